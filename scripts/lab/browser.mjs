// A lab and a browser for the checks: the real command, the real page.
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { resolve } from "node:path";

const require = createRequire(`${process.env.LAB_FOLDER ?? "target/lab"}/node/`);
const { chromium } = require("playwright-core");
export const axeSource = () =>
  require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Starts a lab and waits for its address. `assets` are read from this clone. */
export async function startLab(
  models,
  { assets = "crates/limpid-server/assets/lab", extra = [] } = {},
) {
  const args = [
    "lab", ...models.map((one) => resolve(one)), "--no-open", "--port", "0", "--assets",
    resolve(assets), ...extra,
  ];
  // Runs and experiments that the page starts are written below the current directory.
  const cwd = resolve(process.env.LAB_FOLDER ?? "target/lab", "work");
  mkdirSync(cwd, { recursive: true });
  const child = spawn(resolve(process.env.LIMPID_BIN ?? "target/debug/limpid"), args, {
    cwd, stdio: ["ignore", "pipe", "pipe"],
  });
  const said = [];
  const url = await new Promise((resolve, reject) => {
    const listen = (stream) =>
      createInterface({ input: stream }).on("line", (line) => {
        said.push(line);
        const found = /http:\/\/127\.0\.0\.1:\d+\/#token=[A-Za-z0-9_-]+/.exec(line);
        if (found) resolve(found[0]);
      });
    listen(child.stdout);
    listen(child.stderr);
    child.on("exit", (code) =>
      reject(new Error(`the lab ended with ${code}:\n${said.join("\n")}`)),
    );
    setTimeout(
      () => reject(new Error(`no address after 60 s:\n${said.join("\n")}`)),
      60000,
    ).unref();
  });
  const origin = url.slice(0, url.indexOf("/#"));
  const token = url.slice(url.indexOf("=") + 1);
  const end = () =>
    new Promise((done) => {
      child.removeAllListeners("exit");
      child.on("exit", done);
      child.kill("SIGTERM");
      setTimeout(() => child.kill("SIGKILL"), 5000).unref();
    });
  const ask = async (path, body) => {
    const response = await fetch(origin + path, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        "x-limpid-token": token,
        "sec-fetch-site": "same-origin",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  return { url, origin, token, child, said, end, ask };
}

export const startBrowser = (args = []) =>
  chromium.launch({
    executablePath: process.env.LAB_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", ...args],
  });

/**
 * A page with the token of the lab. Whatever goes wrong in it is collected in `wrong`: errors of
 * scripts, of the console, refusals of the content security policy, requests to anybody else.
 */
export async function openPage(
  browser,
  lab,
  { theme = "light", width = 1360, height = 900, ...more } = {},
) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    acceptDownloads: true,
    ...more,
  });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`script: ${error.stack ?? error}`));
  page.on("console", (message) => {
    const text = message.text();
    // Answers with an error status are expected where bad input is tried.
    if (message.type() === "error" && !/Failed to load resource/.test(text))
      wrong.push(`console: ${text}`);
    if (/Content Security Policy/.test(text)) wrong.push(`policy: ${text}`);
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(lab.origin) && !url.startsWith("data:") && !url.startsWith("blob:")) {
      wrong.push(`request to ${url}`);
    }
  });
  await page.goto(lab.url);
  await page.waitForSelector(".view h1");
  return { page, context, wrong };
}

/** Goes to a view: `state` are the parameters of the address. */
export async function go(page, view, state = {}) {
  const query = new URLSearchParams(
    Object.entries(state).map(([key, value]) => [key, String(value)]),
  );
  const hash = `#/${view}${query.size > 0 ? `?${query}` : ""}`;
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await settle(page);
}

/** Waits until nothing loads: no placeholder, no stale answer, and two frames have been drawn. */
export async function settle(page, timeout = 20000) {
  const still = () =>
    document.querySelectorAll(".waiting, .stale, [aria-busy=true]").length === 0 &&
    document.querySelector(".view h1") !== null;
  for (let calm = 0; calm < 2;) {
    await page.waitForFunction(still, null, { timeout });
    await page.waitForTimeout(60);
    calm = (await page.evaluate(still)) ? calm + 1 : 0;
  }
}
