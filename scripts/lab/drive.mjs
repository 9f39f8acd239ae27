// Drives the page: every view on every kind of model, tasks, bad input, accessibility.
import { mkdirSync, rmSync } from "node:fs";
import { axe } from "./axe.mjs";
import { badInput } from "./bad-input.mjs";
import { startBrowser, startLab } from "./browser.mjs";
import { shots } from "./shots.mjs";
import { tasks } from "./tasks.mjs";
import { views } from "./views.mjs";

const folder = process.env.LAB_FOLDER ?? "target/lab";
const models = `${folder}/models`;
rmSync(`${folder}/shots`, { recursive: true, force: true });
rmSync(`${folder}/work`, { recursive: true, force: true });
mkdirSync(`${folder}/shots`, { recursive: true });

const only = process.argv.slice(2);
const failed = [];
let passed = 0;
/** Runs a check under a name that is a sentence. */
async function check(name, run) {
  if (only.length > 0 && !only.some((word) => name.includes(word))) return;
  const started = performance.now();
  try {
    await run();
    passed += 1;
    if (process.env.LAB_VERBOSE)
      console.log(`ok ${name} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    failed.push(name);
    console.error(
      `FAILED ${name}\n  ${String(error?.stack ?? error)
        .split("\n")
        .slice(0, 6)
        .join("\n  ")}`,
    );
  }
}

const lab = await startLab([
  `${models}/demo`,
  `${models}/rnn-none`,
  `${models}/rnn-additive`,
  `${models}/fixtures`,
]);
const browser = await startBrowser();
try {
  const known = await lab.ask("/api/lab");
  const suite = { lab, browser, check, known, folder };
  await views(suite);
  await tasks(suite);
  await axe(suite);
  await badInput(suite);
  await shots(suite);
} finally {
  await browser.close();
  await lab.end();
}
console.log(
  `browser: ${passed} checks passed${failed.length > 0 ? `, ${failed.length} failed` : ""}; ` +
    `screenshots in ${folder}/shots`,
);
if (failed.length > 0) process.exit(1);
