// Every view on each kind of model: it shows what it is for, and nothing goes wrong on the way.
import assert from "node:assert/strict";
import { go, openPage } from "./browser.mjs";

/** What must be seen in a view. A model that it does not fit must be told why. */
const EXPECTED = {
  sentence: ".token",
  attention: ".heat canvas, .note",
  why: ".view button",
  generation: ".bars li",
  ablation: ".switch",
  lens: ".lens-cell",
  beams: ".node",
  masked: ".token",
  training: "form, .runs",
  three: ".three .card",
  examples: ".steps li",
  architecture: ".blocks li",
  experiments: ".experiments li",
  tour: ".stations button",
};
export const NAMES = Object.keys(EXPECTED);

/** One model for each kind and source that there is. */
export function kinds(known) {
  const seen = new Map();
  for (const one of known.models) {
    if (one.state !== "ready") continue;
    const key = [one.kind, one.task, one.attention, one.has_tokenizer].join(" ");
    if (!seen.has(key)) seen.set(key, one);
  }
  return [...seen.values()];
}

export async function views({ lab, browser, check, known }) {
  const { page, context, wrong } = await openPage(browser, lab);
  for (const model of kinds(known)) {
    for (const view of NAMES) {
      await check(`${view} of ${model.name} (${model.kind}) shows what it is for`, async () => {
        wrong.length = 0;
        const own = ["training", "three", "examples", "experiments", "tour"].includes(view);
        if (own && model !== kinds(known)[0]) return;
        await go(page, view, { m: model.id });
        const empty = await page.locator(".view .empty").count();
        if (empty > 0) {
          const told = await page.locator(".view .empty h2").first().textContent();
          assert.ok(told && told.length > 20, "an empty view must say why");
        } else {
          await page.waitForSelector(`.view :is(${EXPECTED[view]})`, { timeout: 8000 });
        }
        assert.equal(
          await page.locator(".view .failure").count(),
          0,
          (await page.locator(".view .failure").allTextContents()).join(" "),
        );
        assert.deepEqual(wrong, []);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wide <= 0, `the page scrolls sideways by ${wide}`);
      });
    }
  }
  await context.close();
}
