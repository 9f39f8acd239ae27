// Figures of the page: how long people wait, how much is sent, whether the numbers are right.
import { readFileSync, rmSync } from "node:fs";
import { go, openPage, settle, startBrowser, startLab } from "./browser.mjs";

const folder = process.env.LAB_FOLDER ?? "target/lab";
const demo = process.env.LAB_DEMO ?? "limpid-demo";
const parts = process.argv.slice(2);
const wanted = (name) => parts.length === 0 || parts.includes(name);
const say = (name, value, target) =>
  console.log(`${name.padEnd(52)} ${String(value).padStart(14)}   ${target}`);
const p95 = (values) =>
  [...values].sort((a, b) => a - b)[Math.ceil(values.length * 0.95) - 1] ?? NaN;
const median = (values) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const ms = (value) => `${value.toFixed(value < 20 ? 1 : 0)} ms`;
const ready = (known, fits) => known.models.find((one) => one.state === "ready" && fits(one));

/** Opening until attention is on the screen, and what was sent for it. */
async function opening(lab, browser) {
  const times = [];
  let sent = 0;
  let data = 0;
  for (let round = 0; round < 7; round += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    const client = await context.newCDPSession(page);
    await client.send("Network.enable");
    const urls = new Map();
    sent = 0;
    data = 0;
    client.on("Network.requestWillBeSent", (event) =>
      urls.set(event.requestId, event.request.url),
    );
    client.on("Network.loadingFinished", (event) => {
      if ((urls.get(event.requestId) ?? "").includes("/api/")) data += event.encodedDataLength;
      else sent += event.encodedDataLength;
    });
    const started = performance.now();
    await page.goto(lab.url);
    await page.waitForSelector(".links path");
    times.push(performance.now() - started);
    await settle(page);
    await context.close();
  }
  say("opening → first attention, demo (median of 7)", ms(median(times)), "≤ 1000 ms");
  say("first view: page", `${(sent / 1024).toFixed(0)} KB`, "≤ 150 KB");
  say("first view: data", `${(data / 1024).toFixed(0)} KB`, "≤ 50 KB");
}

/** Intervals between frames while the map is moved and zoomed. */
async function frames(page) {
  await page.evaluate(() => {
    window.frameTimes = [];
    let last = performance.now();
    const tick = (now) => {
      window.frameTimes.push(now - last);
      last = now;
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });
  const box = await page.locator(".heat .map").boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const zoom = page.getByRole("button", { name: "Zoom in" });
  for (let k = 0; k < 6; k += 1) {
    await zoom.click();
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let step = 0; step < 25; step += 1) {
      await page.mouse.move(x + 120 * Math.sin(step / 4), y + 90 * Math.cos(step / 5));
    }
    await page.mouse.up();
  }
  return page.evaluate(() => window.frameTimes.slice(5));
}

/** 2,048 tokens: thumbnails, the large map, tiles. */
async function long(browser) {
  const lab = await startLab([`${folder}/models/long`]);
  try {
    const known = await lab.ask("/api/lab");
    const model = known.models[0];
    const words = readFileSync(`${folder}/models/corpus/train.en`, "utf8").split(/\s+/);
    let count = 1400;
    let text = "";
    for (;;) {
      text = words.slice(0, count).join(" ");
      const { tokens } = await lab.ask(`/api/models/${model.id}/tokenize`, { text });
      if (tokens.length > 2046) {
        count -= Math.ceil((tokens.length - 2046) / 2) + 1;
        continue;
      }
      if (tokens.length > 2030) break;
      count += Math.max(1, Math.floor((2046 - tokens.length) / 2));
    }
    const pass = await lab.ask("/api/passes", { model: model.id, text });
    say("2,048 tokens: forward pass with the probe", ms(pass.milliseconds), "");
    const headers = { "x-limpid-token": lab.token };
    const rounds = [];
    for (let round = 0; round < 3; round += 1) {
      const started = performance.now();
      const answer = await fetch(
        `${lab.origin}/api/passes/${encodeURIComponent(pass.id)}/thumbnails`,
        { headers },
      );
      let first = 0;
      let size = 0;
      for await (const piece of answer.body) {
        size += piece.length;
        if (first === 0 && size >= 12 * (4096 + 16)) first = performance.now() - started;
      }
      rounds.push({ first, all: performance.now() - started, size });
    }
    say(
      "  first layer of thumbnails (median of 3)",
      ms(median(rounds.map((one) => one.first))),
      "≤ 500 ms",
    );
    say("  grid of 144 complete", ms(median(rounds.map((one) => one.all))), "≤ 4000 ms");
    const times = [];
    for (let k = 0; k < 60; k += 1) {
      const started = performance.now();
      const head = k % 12;
      const answer = await fetch(
        `${lab.origin}/api/passes/${encodeURIComponent(pass.id)}/tile?attention=${k % 12}` +
          `&head=${head}&level=0&row=${256 * (k % 8)}&column=${256 * (k % (1 + (k % 8)))}`,
        { headers },
      );
      await answer.arrayBuffer();
      times.push(performance.now() - started);
    }
    say("tile of 256 × 256, p95 of 60", ms(p95(times)), "≤ 15 ms");
    const { page, context } = await openPage(browser, lab);
    await go(page, "attention", { m: model.id, t: text, l: 5, h: 3 });
    await settle(page, 60000);
    await frames(page);
    say("frame at 2,048 tokens, software rendering, p95", ms(p95(await frames(page))), "≤ 33 ms");
    await context.close();
  } finally {
    await lab.end();
  }
}

/** Times from an action until the page shows its result. */
async function numbers(lab, browser, known) {
  const { page, context } = await openPage(browser, lab);
  const translator = ready(known, (one) => one.kind === "encoder-decoder");
  const gpt = ready(known, (one) => one.kind === "decoder");
  // As text, because the policy of the page allows no `new Function`.
  const inPage = (act, done, times) =>
    page.evaluate(`(async () => {
      const act = (k) => { ${act} };
      const done = () => { ${done} };
      const found = [];
      for (let k = 0; k < ${times}; k += 1) {
        const started = performance.now();
        act(k);
        while (!done()) await new Promise((next) => requestAnimationFrame(next));
        found.push(performance.now() - started);
        await new Promise((next) => setTimeout(next, 60));
      }
      return found;
    })()`);
  await go(page, "sentence", { m: translator.id });
  const opened = await inPage(
    `window.was = document.querySelector("aside.why .big-number")?.textContent;
     document.querySelectorAll(".stages .cell")[k * 7 % 128].click()`,
    `const now = document.querySelector("aside.why .big-number");
     return now && now.textContent !== window.was && !document.querySelector("aside.why .stale")`,
    60,
  );
  say("opening a number, p95 of 60", ms(p95(opened)), "≤ 20 ms");
  await go(page, "generation", { m: gpt.id });
  const dragged = await inPage(
    `const slider = document.querySelector("input[type=range]");
     window.was = document.querySelector(".bars").textContent;
     slider.value = String(0.3 + (k % 20) * 0.1);
     slider.dispatchEvent(new Event("input", { bubbles: true }))`,
    `const bars = document.querySelector(".bars");
     return bars && bars.textContent !== window.was`,
    40,
  );
  say("slider → bars, p95 of 40", ms(p95(dragged)), "≤ 50 ms");
  await go(page, "ablation", { m: translator.id });
  const off = await inPage(
    `document.querySelectorAll(".switch")[k % 12].click()`,
    `return document.querySelector(".two-texts, .view .note")
       && !document.querySelector(".stale, .waiting")`,
    24,
  );
  say("head off, demo, p95 of 24", ms(p95(off)), "≤ 150 ms");
  await context.close();
}

/** Random numbers of each architecture, opened by the engine: each sum re-adds. */
async function openings(lab, known) {
  const kinds = new Map(
    known.models
      .filter((one) => one.state === "ready")
      .map((one) => [
        `${one.kind}${one.kind === "recurrent" ? (one.attention ? " +attention" : "") : ""}`,
        one,
      ]),
  );
  let state = 1;
  const random = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  const each = Number(process.env.OPENINGS ?? 10000);
  for (const [kind, model] of kinds) {
    const pass = await lab.ask("/api/passes", { model: model.id, text: model.example });
    const tensors = pass.tensors.filter((one) => one.rows * one.columns > 0);
    let worst = 0;
    let where = "";
    let opaque = 0;
    for (let k = 0; k < each; k += 32) {
      await Promise.all(
        [...Array(Math.min(32, each - k))].map(async () => {
          const weights = pass.attentions.length > 0 && random(4) === 0;
          const one = weights
            ? pass.attentions[random(pass.attentions.length)]
            : tensors[random(tensors.length)];
          const element = weights
            ? {
                kind: random(2) ? "weight" : "score",
                step: one.step,
                head: random(one.heads),
                query: random(one.t),
                key: random(one.s),
              }
            : {
                kind: "output",
                step: one.step,
                output: one.output,
                row: random(one.rows),
                column: random(one.columns),
              };
          if (weights && one.causal && element.key > element.query) element.key = element.query;
          const found = await lab.ask("/api/explain", { pass: pass.id, element, largest: 1 });
          if (found.count === 0 && !found.token && !found.note) opaque += 1;
          if (found.ulps > worst) {
            worst = found.ulps;
            where = `${found.name} ${JSON.stringify(element)}`;
          }
        }),
      );
    }
    say(
      `${each} openings, ${kind}: largest difference`,
      `${worst.toFixed(2)} ULP`,
      `${opaque} without operands; ${where}`,
    );
  }
}

/** Tokens per second of a run, with the page open on it and without, in turns. */
async function training(browser) {
  const rates = { closed: [], open: [] };
  for (const mode of ["closed", "open", "closed", "open", "closed", "open"]) {
    const run = `${folder}/measured-runs`;
    rmSync(run, { recursive: true, force: true });
    const lab = await startLab([run, demo]);
    try {
      const defaults = await lab.ask("/api/training");
      const corpus = defaults.corpora.find((one) => one.task === "gpt");
      const { run: id } = await lab.ask("/api/training", {
        name: `measured-${mode}`,
        task: "gpt",
        corpus: corpus.id,
        steps: 100000,
        seed: 1,
      });
      const opened = mode === "open" ? await openPage(browser, lab) : null;
      if (opened) await go(opened.page, "training", { x: `runs=${id}` }).catch(() => {});
      await new Promise((done) => setTimeout(done, 5000));
      const step = async () => (await lab.ask(`/api/runs/${encodeURIComponent(id)}`)).run.step;
      const [from, started] = [await step(), performance.now()];
      await new Promise((done) => setTimeout(done, 20000));
      rates[mode].push(((await step()) - from) / ((performance.now() - started) / 1000));
      await lab.ask(`/api/runs/${encodeURIComponent(id)}/stop`, {});
      await opened?.context.close();
    } finally {
      await lab.end();
    }
  }
  const slower = median(rates.closed) / median(rates.open) - 1;
  say("training step with the page open", `${(slower * 100).toFixed(1)}%`, "≤ +1%");
}

/** Memory of the tab after minutes of use. */
async function memory(lab, browser, known) {
  const { page, context } = await openPage(browser, lab);
  const client = await context.newCDPSession(page);
  await client.send("Performance.enable");
  const models = known.models.filter((one) => one.state === "ready");
  const until = Date.now() + Number(process.env.MINUTES ?? 10) * 60000;
  for (let k = 0; Date.now() < until; k += 1) {
    const model = models[k % models.length];
    for (const view of ["sentence", "attention", "generation", "ablation", "lens"]) {
      await go(page, view, {
        m: model.id,
        t: `${model.example} ${"a ".repeat(k % 9)}`.trim(),
      }).catch(() => {});
    }
  }
  await client.send("HeapProfiler.collectGarbage");
  const { metrics } = await client.send("Performance.getMetrics");
  const heap = metrics.find((one) => one.name === "JSHeapTotalSize").value;
  const dom = metrics.find((one) => one.name === "Nodes").value;
  say(
    "tab memory (JavaScript heap)",
    `${(heap / 2 ** 20).toFixed(0)} MB`,
    `≤ 200 MB; ${dom} nodes`,
  );
  await context.close();
}

const browser = await startBrowser();
const lab = await startLab([demo, `${folder}/models/rnn-none`, `${folder}/models/rnn-additive`]);
try {
  const known = await lab.ask("/api/lab");
  if (wanted("open")) await opening(lab, browser);
  if (wanted("numbers")) await numbers(lab, browser, known);
  if (wanted("openings")) await openings(lab, known);
  if (wanted("long")) await long(browser);
  if (wanted("training")) await training(browser);
  if (wanted("memory")) await memory(lab, browser, known);
} finally {
  await browser.close();
  await lab.end();
}
