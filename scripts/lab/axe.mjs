// axe-core over all views in both themes: no violation. Where motion is reduced, nothing moves.
import assert from "node:assert/strict";
import { axeSource, go, openPage } from "./browser.mjs";
import { NAMES, kinds } from "./views.mjs";

/** The model on which a view has most to show. */
export function modelFor(view, known) {
  const models = kinds(known);
  const want =
    { masked: "encoder", generation: "decoder", lens: "decoder" }[view] ?? "encoder-decoder";
  return (
    models.find((one) => one.kind === want && (want !== "encoder" || one.task === "fill-mask")) ??
    models[0]
  );
}

/** A state of each view with its most parts open. */
export const stateOf = (view, model) => ({
  m: model.id,
  ...{
    sentence: { d: "target", i: 1 },
    attention: { a: "cross", l: 1, h: 1, i: 1, j: 0, why: "w_0_0_0_0" },
    ablation: { x: "off=encoder.self_attention:0:1" },
    why: {},
    generation: { s: 1 },
    lens: { i: 1 },
    masked: { i: 2 },
    tour: { x: "station=4" },
  }[view],
});

export async function axe({ lab, browser, check, known }) {
  for (const theme of ["light", "dark"]) {
    const { page, context } = await openPage(browser, lab, { theme, reducedMotion: "reduce" });
    await page.evaluate(axeSource());
    for (const view of NAMES) {
      await check(`axe finds nothing in ${view}, ${theme}`, async () => {
        const model = modelFor(view, known);
        const state = stateOf(view, model);
        if (view === "attention") {
          const pass = await lab.ask("/api/passes", { model: model.id, text: model.example });
          const one = pass.attentions.find((each) => each.kind === "cross" && each.layer === 1);
          state.why = `w_${one.step}_1_1_0`;
        }
        await go(page, view, state);
        const found = await page.evaluate(async () => {
          const result = await window.axe.run(document, { resultTypes: ["violations"] });
          return result.violations.map(
            (one) =>
              `${one.id}: ${one.nodes
                .slice(0, 3)
                .map((node) => `${node.target} ${node.failureSummary}`)
                .join(" | ")}`,
          );
        });
        assert.deepEqual(found, []);
      });
    }
    await check(`nothing moves where motion is reduced, ${theme}`, async () => {
      const moving = await page.evaluate(
        () =>
          document
            .getAnimations()
            .filter((one) => (one.effect?.getComputedTiming().duration ?? 0) > 1).length,
      );
      assert.equal(moving, 0);
    });
    await context.close();
  }
}
