// Bad input: never a blank page, never a spinner without end, never something that runs.
import assert from "node:assert/strict";
import { go, openPage, settle, startLab } from "./browser.mjs";
import { NAMES } from "./views.mjs";

const RTL = "שלום עולם 👩‍👩‍👧 العربية";
const BIDI =
  "abc\u202Edef\u202C <script>window.hurt = 1</script> <img src=x onerror='window.hurt=1'>";

export async function badInput({ lab, browser, check, known, folder }) {
  const { page, context, wrong } = await openPage(browser, lab);
  const ready = known.models.filter((one) => one.state === "ready");
  const model = ready.find((one) => one.kind === "decoder");
  const translator = ready.find((one) => one.kind === "encoder-decoder");

  for (const [name, text] of [
    ["right-to-left and emoji", RTL],
    ["markup and bidi controls", BIDI],
    ["one letter", "a"],
    ["only punctuation", "?!…"],
  ]) {
    await check(`${name} are shown as they are`, async () => {
      for (const one of [model, translator]) {
        for (const view of ["sentence", "attention"]) {
          await go(page, view, { m: one.id, t: text });
          assert.ok((await page.locator(".token, .map, .failure, .note").count()) > 0);
        }
      }
      assert.equal(await page.evaluate(() => window.hurt), undefined);
      assert.equal(await page.locator("main img").count(), 0);
    });
  }

  await check("bidi controls can be seen", async () => {
    await go(page, "sentence", { m: model.id, t: BIDI });
    const shown = await page.locator("main").textContent();
    assert.ok(
      !/[\u202a-\u202e\u2066-\u2069]/.test(
        shown.replace(await page.locator("textarea").first().inputValue(), ""),
      ),
      "a control went into the page",
    );
  });

  await check("text beyond the context says both numbers and what to do", async () => {
    await go(page, "sentence", { m: model.id, t: "the cat ".repeat(3000) });
    const told = await page.locator(".failure").first().textContent();
    assert.match(told, /\d/);
    await page.getByRole("button", { name: "Keep the first half" }).first().click();
    await settle(page);
  });

  await check(
    "every view says what it needs for a model that does not fit or cannot be opened",
    async () => {
      for (const one of known.models.filter((each) => each.state === "damaged")) {
        for (const view of NAMES.filter(
          (name) => !["training", "three", "examples", "experiments", "tour"].includes(name),
        )) {
          await go(page, view, { m: one.id });
          const told = await page.locator(".view .empty").first().textContent();
          assert.ok(told.includes(one.name), `${view}: ${told}`);
          assert.ok(
            (await page.locator(".problem").count()) > 0,
            `${view} does not say the problem`,
          );
        }
      }
      assert.ok(
        known.models.some((each) => each.state === "damaged"),
        "a damaged folder is listed",
      );
    },
  );

  await check("a model without a tokenizer reads token ids", async () => {
    const one = ready.find((each) => !each.has_tokenizer);
    assert.ok(one, "a model without a tokenizer is listed");
    await go(page, "sentence", { m: one.id, t: "1 2 3" });
    assert.equal(await page.locator(".hero .token").count(), 3);
    await go(page, "sentence", { m: one.id, t: "words instead" });
    assert.ok((await page.locator(".failure").count()) > 0);
  });

  await check("an address with nonsense in it shows something", async () => {
    for (const hash of [
      "#/nothing?m=none",
      "#/attention?l=99&h=99&i=9999&j=5",
      "#/why?why=o_1_2",
      "#/why?why=o_99999_0_0_0",
      "#/lens?x=lens-layer%3D99",
      "#/generation?s=99&x=temperature%3Dhot",
      "#/sentence?m=..%2F..%2Fetc",
      "#/%E0%A4%A",
      "#/examples?x=example%3Dnone%26options%3D%7B",
    ]) {
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await settle(page);
      assert.ok((await page.locator(".view h1").count()) === 1, hash);
      const text = await page.locator(".view").textContent();
      assert.ok(text.length > 60, `${hash}: ${text}`);
    }
  });

  await check("what comes back from an empty field is the example", async () => {
    await go(page, "sentence", { m: translator.id, t: "Il dort" });
    await page.locator("textarea").first().fill("");
    await page.waitForTimeout(600);
    await settle(page);
    assert.ok((await page.locator(".token").count()) > 0);
  });

  await check("no bad input left an error behind", async () => assert.deepEqual(wrong, []));
  await context.close();

  await check("without the token the page says how to get it", async () => {
    const other = await browser.newContext();
    const alone = await other.newPage();
    await alone.goto(`${lab.origin}/`);
    await alone.waitForSelector(".failure");
    assert.match(await alone.locator(".failure").textContent(), /address/i);
    await other.close();
  });

  await check("when the process ends the page says so, and goes on when it is back", async () => {
    const mortal = await startLab([`${folder}/models/fixtures/gpt`]);
    const open = await openPage(browser, mortal);
    await settle(open.page);
    await mortal.end();
    await open.page.waitForSelector(".banner", { timeout: 20000 });
    await open.context.close();
  });
}
