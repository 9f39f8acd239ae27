// Screenshots of every view, in both themes and at the width of a phone, to be looked at.
import { go, openPage } from "./browser.mjs";
import { modelFor, stateOf } from "./axe.mjs";
import { NAMES } from "./views.mjs";

const SIZES = [
  { name: "light", theme: "light", width: 1360, height: 900 },
  { name: "dark", theme: "dark", width: 1360, height: 900 },
  { name: "phone", theme: "light", width: 390, height: 844 },
];

export async function shots({ lab, browser, check, known, folder }) {
  for (const { name, ...size } of SIZES) {
    const { page, context } = await openPage(browser, lab, size);
    for (const view of NAMES) {
      await check(`${view} can be photographed, ${name}`, async () => {
        const { why: _, ...state } = stateOf(view, modelFor(view, known));
        await go(page, view, state);
        await page.screenshot({ path: `${folder}/shots/${view}-${name}.png` });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0) throw new Error(`the page scrolls sideways by ${wide}`);
      });
    }
    await context.close();
  }
}
