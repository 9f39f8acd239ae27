// Writes the vendored libraries of the lab from the npm registry, or compares them with it.
//   node scripts/lab/vendor.mjs           fetch, verify, write
//   node scripts/lab/vendor.mjs --check   fetch, verify, compare with what is committed
// Each file is the package's own, with two changes so that it runs without an import map: bare
// import specifiers become relative paths, and the reference to a source map is dropped.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = join(root, "crates/limpid-server/assets/lab/vendor");
const manifest = join(folder, "vendored.json");

/** What is vendored, in the order of its imports. `integrity` is npm's, of the whole package. */
const packages = JSON.parse(readFileSync(manifest, "utf8")).packages;

const relative = {
  "@preact/signals-core": "./signals-core.js",
  "preact/hooks": "./hooks.js",
  preact: "./preact.js",
};

function adapt(text, exported) {
  let out = text.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, "\n");
  for (const [bare, path] of Object.entries(relative)) {
    out = out.replaceAll(`from"${bare}"`, `from"${path}"`);
  }
  if (exported) out = `${out.trimEnd()}\nexport default ${exported};\n`;
  return out;
}

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

const check = process.argv.includes("--check");
const work = mkdtempSync(join(tmpdir(), "limpid-vendor-"));
let licences = "";
let failed = false;
try {
  for (const one of packages) {
    const packed =
      execFileSync("npm", ["pack", "--silent", `${one.name}@${one.version}`], {
        cwd: work,
        encoding: "utf8",
      })
        .trim()
        .split("\n")
        .at(-1) ?? "";
    const archive = readFileSync(join(work, packed));
    const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
    if (one.integrity && one.integrity !== integrity) {
      throw new Error(`${one.name}@${one.version}: its integrity is ${integrity}`);
    }
    one.integrity = integrity;
    execFileSync("tar", ["xzf", packed], { cwd: work });
    for (const file of one.files) {
      const text = adapt(readFileSync(join(work, "package", file.from), "utf8"), file.exports);
      file.sha256 = sha256(text);
      if (check) {
        const committed = readFileSync(join(folder, file.to));
        if (sha256(committed) !== file.sha256) {
          failed = true;
          console.error(`error: vendor/${file.to} is not that of ${one.name}@${one.version}`);
        }
      } else {
        writeFileSync(join(folder, file.to), text);
      }
    }
    const licence = readFileSync(join(work, "package/LICENSE"), "utf8").trim();
    licences += `${one.name} ${one.version}\n\n${licence}\n\n${"-".repeat(72)}\n\n`;
    rmSync(join(work, "package"), { recursive: true });
  }
  const text = `${JSON.stringify({ packages }, null, 2)}\n`;
  if (check) {
    if (readFileSync(manifest, "utf8") !== text) {
      failed = true;
      console.error("error: vendor/vendored.json has other hashes");
    }
  } else {
    writeFileSync(manifest, text);
    writeFileSync(join(folder, "LICENSES.txt"), licences);
  }
} finally {
  rmSync(work, { recursive: true });
}
if (failed) process.exit(1);
console.log(`${packages.length} packages ${check ? "are as published" : "written"}`);
