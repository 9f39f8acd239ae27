// Saves what is shown as one HTML file that needs nothing else: the picture, the operands of the
// opened numbers, the hash of the model, the seed and the command.
import { double, full } from "../format.js";
import { post } from "../state/api.js";
import { lab, loadPass, model, passRequest } from "../state/lab.js";
import { opened } from "../state/numbers.js";
import { once } from "../state/resource.js";
import { extra, selection } from "../state/selection.js";
import { spell } from "../state/numbers.js";
import { strings } from "../strings.js";
import { loadLogits, nameOf, softmaxOf } from "../why/explanation.js";
import { titleOf, viewOf } from "./views.js";

/** @typedef {import("../api.js").Pass} Pass */

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** All styles of the page, as text. */
function styles() {
  return [...document.styleSheets]
    .flatMap((sheet) => {
      try {
        return [...sheet.cssRules].map((rule) => rule.cssText);
      } catch {
        return [];
      }
    })
    .join("\n");
}

/**
 * A copy of an element without anything that runs: pictures for canvases, text for fields.
 * @param {Document} page
 * @param {Element} element
 */
async function still(page, element) {
  // In a document that is not shown, so that nothing of the copy is loaded or refused here.
  const copy = /** @type {HTMLElement} */ (page.importNode(element, true));
  const canvases = [...element.querySelectorAll("canvas")];
  // A WebGL canvas keeps its picture only until the frame ends: draw it again first.
  window.dispatchEvent(new Event("limpid-draw"));
  [...copy.querySelectorAll("canvas")].forEach((place, k) => {
    const from = canvases[k];
    if (!from || from.width === 0) return;
    const image = page.createElement("img");
    image.src = from.toDataURL("image/png");
    image.className = place.className;
    image.alt = "";
    place.replaceWith(image);
  });
  // Pictures and lines fit the size that they were drawn for.
  const drawn = [...element.querySelectorAll(".map, .links")];
  [...copy.querySelectorAll(".map, .links")].forEach((place, k) => {
    const box = drawn[k]?.getBoundingClientRect();
    if (!box || !(place instanceof HTMLElement)) return;
    place.style.width = `${box.width}px`;
    place.style.maxWidth = "none";
    place.style.height = `${box.height}px`;
  });
  const fields = [...element.querySelectorAll("input, select, textarea")];
  [...copy.querySelectorAll("input, select, textarea")].forEach((place, k) => {
    const from = fields[k];
    const text = page.createElement("output");
    text.textContent =
      from instanceof HTMLSelectElement
        ? (from.selectedOptions[0]?.textContent ?? "").trim()
        : from instanceof HTMLInputElement || from instanceof HTMLTextAreaElement
          ? from.value
          : "";
    place.replaceWith(text);
  });
  for (const frame of copy.querySelectorAll("iframe")) frame.remove();
  for (const image of copy.querySelectorAll("img")) {
    if (image.src.startsWith("blob:")) image.src = await inline(image.src);
  }
  for (const button of copy.querySelectorAll("button")) {
    button.setAttribute("tabindex", "-1");
    button.setAttribute("type", "button");
  }
  for (const link of copy.querySelectorAll("a")) link.removeAttribute("href");
  for (const details of copy.querySelectorAll("details")) details.open = true;
  return copy;
}

/** @param {string} blob @returns {Promise<string>} */
async function inline(blob) {
  const image = new Image();
  image.src = blob;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth || 800;
  canvas.height = image.naturalHeight || 500;
  canvas.getContext("2d")?.drawImage(image, 0, 0);
  return canvas.toDataURL("image/png");
}

/** The operands of the opened numbers, as far as the engine says. @param {Pass} pass */
async function proof(pass) {
  return Promise.all(
    opened.value.map(async (place) => ({
      name: nameOf(pass, place),
      place,
      explained:
        place.kind === "probability"
          ? softmaxOf(await loadLogits(pass, place.row), place.id, 8)
          : await once(`proof ${pass.id} ${spell(place)}`, (signal) =>
              post(
                "/api/explain",
                {
                  pass: pass.id,
                  element: place,
                  largest: 512,
                },
                signal,
              ),
            ),
    })),
  );
}

/**
 * The proof as a list to read.
 * @param {Document} page
 * @param {Awaited<ReturnType<typeof proof>>} numbers
 */
function written(page, numbers) {
  const section = page.createElement("section");
  section.className = "stack proof";
  section.append(Object.assign(page.createElement("h2"), { textContent: strings.save.operands }));
  for (const { name, explained } of numbers) {
    const one = /** @type {any} */ (explained);
    section.append(Object.assign(page.createElement("h3"), { textContent: name }));
    const lines = [`${strings.why.stored}: ${full(one.value)}`];
    if (one.formula) lines.push(`${one.operation}: ${one.formula}`);
    for (const term of one.terms ?? []) {
      const factors = term.factors.map((/** @type {any} */ factor) => {
        const { origin } = factor;
        const from = origin.name ?? origin.symbol;
        return `${double(factor.value)} (${from})`;
      });
      lines.push(`${double(term.value)} = ${factors.join(" × ")}`);
    }
    if (one.rest?.count > 0)
      lines.push(`${double(one.rest.sum)}: ${strings.why.rest(one.rest.count)}`);
    if (one.terms) {
      lines.push(
        `${strings.why.sum(one.count)}: ${double(one.sum)}`,
        `${strings.why.again}: ${double(one.again)}`,
        strings.why.ulps(one.ulps),
      );
    }
    if (one.file)
      lines.push(`${one.file.file}: ${one.file.tensor}[${one.file.row}, ${one.file.column}]`);
    section.append(Object.assign(page.createElement("pre"), { textContent: lines.join("\n") }));
  }
  return section;
}

/** Saves the view. @returns {Promise<string>} the name of the file */
export async function saveView() {
  const main = document.querySelector("main");
  if (!main) throw new Error(strings.save.failed);
  const view = viewOf(selection.value.view);
  const request = passRequest.value;
  const pass =
    request && (view.sentence || view.name === "tour") ? await loadPass(request) : null;
  const one = model.value;
  const facts = {
    view: view.name,
    address: location.hash,
    model: one?.name ?? null,
    folder: one?.folder ?? null,
    hash: pass?.hash ?? one?.hash ?? null,
    text: request?.text ?? null,
    seed: extra("seed") || null,
    command: pass?.command ?? null,
    limpid: lab.value?.version ?? null,
    numbers: pass ? await proof(pass) : [],
  };
  const title = titleOf(view.name).title;
  const page = document.implementation.createHTMLDocument(strings.shell.title(title));
  page.documentElement.lang = "en";
  page.documentElement.dataset["theme"] = document.documentElement.dataset["theme"] ?? "";
  page.head.append(
    Object.assign(page.createElement("meta"), {
      httpEquiv: "Content-Security-Policy",
      content: POLICY,
    }),
    Object.assign(page.createElement("meta"), {
      name: "viewport",
      content: "width=device-width",
    }),
  );
  const body = page.createElement("main");
  body.className = "main saved";
  const copy = await still(page, main);
  body.append(...copy.childNodes);
  if (facts.numbers.length > 0) body.append(written(page, facts.numbers));
  const list = page.createElement("dl");
  list.className = "facts-list";
  for (const [name, value] of Object.entries(strings.save.facts)) {
    const found = facts[/** @type {"model"} */ (name)];
    if (!found) continue;
    list.append(
      Object.assign(page.createElement("dt"), { textContent: value }),
      Object.assign(page.createElement("dd"), { textContent: found }),
    );
  }
  body.append(list);
  const data = page.createElement("script");
  data.type = "application/json";
  data.id = "limpid";
  data.textContent = JSON.stringify(facts).replaceAll("<", "\\u003c");
  page.body.append(body, data);
  const name = `limpid-${view.name}-${(one?.name ?? "lab").replace(/[^A-Za-z0-9-]+/g, "-")}.html`;
  // Styles go in as text: as an element they would be refused by the policy of this page already.
  const style = `<style>${styles().replaceAll("<", "\\3c ")}</style></head>`;
  const whole = page.documentElement.outerHTML.replace("</head>", () => style);
  const file = new Blob([`<!doctype html>\n${whole}\n`], { type: "text/html" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  return name;
}
