// What can be checked without a browser: sizes, hashes, lines, words outside the file of strings.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const assets = join(root, "crates/limpid-server/assets/lab");
const errors = [];
const fail = (text) => errors.push(text);

/** Limits of issue 21. */
const MOST = { vendor: 60 * 1024, own: 150 * 1024, lines: 400, columns: 100 };

function walk(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}
const files = walk(assets)
  .map((path) => ({ path, name: relative(assets, path) }))
  .filter(({ name }) => !name.endsWith(".d.ts"));
const read = (path) => readFileSync(path, "utf8");
const size = (list) =>
  list.reduce((sum, { path }) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);

const vendored = files.filter(
  ({ name }) => name.startsWith("vendor/") && /\.(js|css)$/.test(name),
);
const own = files.filter(({ name }) => !name.startsWith("vendor/"));
const sizes = { vendor: size(vendored), own: size(own) };
for (const [name, bytes] of Object.entries(sizes)) {
  if (bytes > MOST[name]) fail(`${name}: ${bytes} bytes gzipped, at most ${MOST[name]}`);
}

// What is vendored is what was pinned, and nothing else.
const manifest = JSON.parse(read(join(assets, "vendor/vendored.json")));
const pinned = new Map(
  manifest.packages.flatMap((one) => one.files.map((file) => [file.to, file.sha256])),
);
for (const { path, name } of vendored) {
  const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
  const file = name.slice("vendor/".length);
  if (pinned.get(file) !== sha256) fail(`${name}: sha256 ${sha256} is not the pinned one`);
  pinned.delete(file);
}
for (const file of pinned.keys()) fail(`vendor/${file} is pinned but not there`);
const licences = read(join(assets, "vendor/LICENSES.txt"));
for (const one of manifest.packages) {
  if (!licences.includes(`${one.name} ${one.version}\n`)) fail(`no licence of ${one.name}`);
}

for (const { path, name } of own) {
  const text = read(path);
  const lines = text.split("\n");
  if (lines.length - 1 > MOST.lines)
    fail(`${name}: ${lines.length - 1} lines, at most ${MOST.lines}`);
  lines.forEach((line, k) => {
    if ([...line].length > MOST.columns) fail(`${name}:${k + 1}: ${[...line].length} columns`);
  });
  if (!name.endsWith(".js")) continue;
  // Model text and everything else goes through text nodes.
  for (const way of [
    "innerHTML",
    "insertAdjacentHTML",
    "dangerouslySetInnerHTML",
    "document.write",
    "eval(",
    "new Function",
    "outerHTML =",
  ]) {
    if (text.includes(way)) fail(`${name}: ${way}`);
  }
  if (/https?:\/\//.test(text.replaceAll("http://www.w3.org/", ""))) fail(`${name}: an address`);
  // Words between tags belong into strings.js.
  if (name !== "strings.js") {
    for (const found of text.matchAll(/>([^<>${}`]*[A-Za-z]{3,}[^<>${}`]*)<\//g)) {
      const words = found[1].trim();
      if (!/^(lab|limpid)$/.test(words) && !/[=(;]/.test(words))
        fail(`${name}: the words "${words}"`);
    }
  }
}

// Strings that nothing shows.
const code = own
  .filter(({ name }) => name.endsWith(".js") && name !== "strings.js")
  .map(({ path }) => read(path))
  .join("\n");
const { strings } = await import(join(assets, "strings.js"));
for (const [group, entries] of Object.entries(strings)) {
  if (!new RegExp(`strings\\.${group}\\b`).test(code)) fail(`strings.${group} is never used`);
  if (
    typeof entries !== "object" ||
    new RegExp(`strings\\.${group}\\s*\\[|strings\\.${group}\\)`).test(code)
  )
    continue;
  for (const name of Object.keys(entries)) {
    const direct = new RegExp(`strings\\.${group}(\\.${name}\\b|\\[\\s*"${name}")`).test(code);
    const computed = new RegExp(`strings\\.${group}\\[`).test(code);
    if (!direct && !computed) fail(`strings.${group}.${name} is never used`);
  }
}

for (const text of errors) console.error(`error: ${text}`);
if (errors.length > 0) process.exit(1);
console.log(
  `page: ${files.length} files, own code ${(sizes.own / 1024).toFixed(1)} KB gzipped, ` +
    `vendored ${(sizes.vendor / 1024).toFixed(1)} KB`,
);
