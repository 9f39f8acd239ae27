// What people come for, done as they would do it: by mouse, and the same by keyboard.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { go, openPage, settle } from "./browser.mjs";

export async function tasks({ lab, browser, check, known, folder }) {
  const of = (/** @type {(one: any) => boolean} */ fits) =>
    known.models.find((one) => one.state === "ready" && fits(one));
  const translator = of((one) => one.kind === "encoder-decoder");
  const gpt =
    of((one) => one.kind === "decoder" && one.is_story) ?? of((one) => one.kind === "decoder");
  const bert = of((one) => one.task === "fill-mask");
  const { page, context, wrong } = await openPage(browser, lab);
  const pass = await lab.ask("/api/passes", { model: translator.id, text: translator.example });

  await check("the source word behind a translated word is seen without a click", async () => {
    await go(page, "sentence", { m: translator.id });
    assert.ok((await page.locator(".links path").count()) > 0);
    const target = page.locator(".links .tokens").nth(1).locator(".token").first();
    await target.click();
    const said = await page.locator(".hero [aria-live]").textContent();
    assert.match(said, /looks most at .+, .*\d/);
  });

  await check(
    "one click opens a head of any model, and its weights are the engine's",
    async () => {
      await go(page, "sentence", { m: translator.id });
      await page.locator("button.head").first().click();
      await settle(page);
      assert.match(page.url(), /#\/attention/);
      const map = page.locator(".heat .map");
      await map.focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowDown");
      await settle(page);
      const said = await page.locator(".heat .sentence").textContent();
      const found = /(.+) looks at (.+), (.+)%/.exec(said);
      assert.ok(found, said);
      const address = new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
      const row = Number(address.get("i"));
      const column = Number(address.get("j"));
      const one = pass.attentions[0];
      const answer = await fetch(
        `${lab.origin}/api/passes/${encodeURIComponent(pass.id)}/weights?` +
          `attention=${one.index}&head=0&row=${row}&rows=1&column=${column}&columns=1`,
        { headers: { "x-limpid-token": lab.token } },
      );
      const weight = new Float32Array(await answer.arrayBuffer())[0] * 100;
      assert.ok(Math.abs(Number(found[3]) - weight) <= 0.51, `${said} against ${weight}`);
    },
  );

  await check("a number opens down to a weight of the file", async () => {
    const value = page.locator(".row-numbers button.num").first();
    await value.click();
    await settle(page);
    await page.waitForSelector(".why .terms li");
    let leaf = false;
    for (let depth = 0; depth < 12 && !leaf; depth += 1) {
      const check_ = await page.locator(".why .check").textContent();
      assert.match(check_, /ULP/);
      const weight = page
        .locator(".why .factor:has(.origin:text-is('weight')) button.num")
        .first();
      const next =
        (await weight.count()) > 0 ? weight : page.locator(".why .factor button.num").first();
      await next.click();
      await settle(page);
      await page.waitForSelector(".why .big-number");
      leaf = (await page.locator(".why .leaf").count()) > 0;
    }
    assert.ok(leaf, "no weight and no token after 12 numbers");
  });

  await check("undo goes back number by number, and redo forward", async () => {
    const before = page.url();
    await page.keyboard.press("Escape");
    await settle(page);
    assert.equal(await page.locator("aside.why").count(), 0);
    await page.locator("h1").click();
    await page.keyboard.press("Control+z");
    await settle(page);
    assert.equal(page.url(), before);
    await page.keyboard.press("Control+Shift+z");
    await settle(page);
    assert.notEqual(page.url(), before);
    await page.keyboard.press("Control+z");
    await settle(page);
  });

  await check("an address restores a view in another tab", async () => {
    const second = await context.newPage();
    await second.goto(page.url());
    await second.waitForSelector(".why .big-number");
    const read = (one) => one.locator(".why .big-number").textContent();
    assert.equal(await read(second), await read(page));
    await second.close();
  });

  await check("a view is saved as a file that needs nothing else", async () => {
    const waiting = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save" }).click();
    const file = resolve(folder, "saved.html");
    await (await waiting).saveAs(file);
    const text = readFileSync(file, "utf8");
    assert.ok(text.includes(pass.hash), "the hash of the model");
    assert.ok(text.includes("ULP"), "the operands");
    assert.ok(!/<script(?![^>]*application\/json)/.test(text), "no script");
    const alone = await browser.newContext({ offline: true });
    const shown = await alone.newPage();
    const refused = [];
    shown.on("request", (one) => {
      if (!/^(file|data):/.test(one.url())) refused.push(one.url());
    });
    await shown.goto(`file://${file}`);
    assert.ok(await shown.locator("h1").isVisible());
    assert.ok(
      (await shown
        .locator("img.cells-of-map")
        .first()
        .evaluate((image) => image.naturalWidth)) > 0,
    );
    await shown.screenshot({ path: `${folder}/shots/saved-light.png` });
    assert.deepEqual(refused, []);
    await alone.close();
  });

  await check("a head is switched off with one click, and what changes is said", async () => {
    await go(page, "ablation", { m: translator.id });
    await page.locator(".switch").first().click();
    await settle(page);
    await page.waitForSelector(".two-texts");
    assert.match(
      await page.locator("article").textContent(),
      /log-probability of the first text changes by/,
    );
    assert.equal(await page.locator(".switch[aria-checked=false]").count(), 1);
    await page.keyboard.press("Control+z");
    await settle(page);
    assert.equal(await page.locator(".switch[aria-checked=false]").count(), 0);
  });

  await check("all heads are tried, each with its effect", async () => {
    await page.getByRole("button", { name: "Try all heads" }).click();
    const count = await page.locator(".switch").count();
    await page.waitForFunction(
      (n) => document.querySelectorAll(".switch[title]").length === n,
      count,
      { timeout: 30000 },
    );
  });

  await check("temperature changes the bars at once, in one drag", async () => {
    await go(page, "generation", { m: gpt.id });
    const entropy = async () =>
      Number(/entropy (\S+) nats/.exec(await page.locator("article").textContent())?.[1]);
    const slider = page.getByLabel("Temperature");
    await slider.fill("0.3");
    await settle(page);
    const cold = await entropy();
    await slider.fill("1.5");
    await settle(page);
    assert.ok((await entropy()) > cold, "a higher temperature has more entropy");
  });

  await check("a token is forced, and the text goes on from it", async () => {
    await go(page, "generation", { m: gpt.id, x: "temperature=0" });
    const second = page.locator(".bars button.name").nth(1);
    const word = (await second.textContent()).trim();
    await second.click();
    await settle(page);
    const first = await page.locator(".written .token").first().textContent();
    assert.equal(first.trim(), word.replace(/␣/g, "").trim());
  });

  await check("the seed gives the same text again", async () => {
    const read = async () => page.locator(".written .text").textContent();
    await go(page, "generation", { m: gpt.id, x: "temperature=1&seed=5" });
    const text = await read();
    await go(page, "generation", { m: gpt.id, x: "temperature=1&seed=6" });
    await page.reload();
    await go(page, "generation", { m: gpt.id, x: "temperature=1&seed=5" });
    assert.equal(await read(), text);
  });

  if (bert) {
    await check("a word is masked with a click", async () => {
      await go(page, "masked", { m: bert.id });
      await page.locator(".token:not(.special)").nth(1).click();
      await settle(page);
      assert.ok((await page.locator(".bars li").count()) >= 10);
    });
    await check("the truth stands behind the model's bars", async () => {
      if (!bert.is_story) return;
      assert.ok((await page.locator(".bars .ghost").count()) > 0);
    });
  }

  await check("the numbers of a worked example can be replaced", async () => {
    await go(page, "examples", { x: "example=scaling" });
    const field = page.locator(".fields input").first();
    const before = await page.locator(".steps").textContent();
    await field.fill("1 2 3 4");
    await field.press("Enter");
    await field.blur();
    await settle(page);
    await page.waitForFunction(
      (text) => document.querySelector(".steps")?.textContent !== text,
      before,
      { timeout: 5000 },
    );
  });

  await check(
    "a model is trained from the page until its first sample, then stopped and resumed",
    async () => {
      await go(page, "training");
      const start = page.getByRole("button", { name: "Train a model" });
      if ((await start.count()) > 0) await start.click();
      await settle(page);
      await page.getByLabel("Name", { exact: true }).fill(`check-${Date.now()}`);
      const fill = async (name, value) =>
        page.locator(".sizes").getByLabel(name).fill(String(value));
      for (const [name, value] of [
        ["Layers", 1],
        ["Heads", 2],
        ["Width", 32],
        ["Context", 32],
        ["Steps", 20000],
        ["Tokens per step", 256],
      ])
        await fill(name, value);
      await page.waitForFunction(
        () => !/…/.test(document.querySelector(".facts-list")?.textContent ?? "…"),
      );
      await page.getByRole("button", { name: "Start training" }).click();
      await page.waitForSelector(".u-over", { timeout: 30000 });
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("button", { name: "Resume" }).waitFor({ timeout: 20000 });
      await page.getByRole("button", { name: "Resume" }).click();
      await page.getByRole("button", { name: "Stop" }).waitFor({ timeout: 20000 });
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByRole("button", { name: "Resume" }).waitFor({ timeout: 20000 });
    },
  );

  await check("the tour has ten stations with numbers of the model", async () => {
    await go(page, "tour", { m: translator.id });
    const stations = await page.locator(".stations button").count();
    assert.equal(stations, 10);
    for (let at = 1; at <= stations; at += 1) {
      assert.ok(
        (await page.locator(".station math").count()) > 0,
        `station ${at} has no formula`,
      );
      assert.ok(
        (await page.locator(".station :is(.cell, .num, .thumbnail, .token)").count()) > 0,
        `station ${at} has no numbers`,
      );
      if (at < stations) await page.getByRole("button", { name: "Next station" }).click();
      await settle(page);
    }
  });

  await check("everything is reached by the keyboard alone", async () => {
    await go(page, "attention", { m: translator.id, a: "encoder", l: 0, h: 0 });
    await page.reload();
    await settle(page);
    await page.keyboard.press("Tab");
    const skip = await page.evaluate(() => document.activeElement?.className);
    assert.equal(skip, "skip");
    await page.keyboard.press("Enter");
    let reached = false;
    for (let k = 0; k < 40 && !reached; k += 1) {
      await page.keyboard.press("Tab");
      reached = await page.evaluate(() => document.activeElement?.classList.contains("map"));
    }
    assert.ok(reached, "the map is not reached by Tab");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForSelector("aside.why .big-number");
    assert.ok(await page.evaluate(() => document.activeElement?.closest("aside.why") !== null));
  });

  await check("no task left an error behind", async () => assert.deepEqual(wrong, []));
  await context.close();
}
