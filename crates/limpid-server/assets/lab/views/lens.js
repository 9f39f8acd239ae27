// Logit lens: when does it know? What each layer would say if it were the last.
import { html } from "../ui.js";
import { percent, short } from "../format.js";
import { Await } from "../show/await.js";
import { Bars } from "../show/bars.js";
import { heat, inkOn } from "../show/colours.js";
import { visible, word } from "../show/token.js";
import { post } from "../state/api.js";
import { usePass } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { extra, select, selection, setExtra } from "../state/selection.js";
import { strings } from "../strings.js";

/** @typedef {import("../api.js").Lens} Lens */
/** @typedef {import("../api.js").Pass} Pass */

/** Positions that are shown at once. */
const SHOWN = 16;

export function View() {
  const pass = usePass();
  const id = pass.value && !pass.stale ? pass.value.id : null;
  const lens = useResource(id && `lens ${id}`, (signal) =>
    post("/api/lens", { pass: id, top: 5 }, signal),
  );
  if (pass.error) return html`<${Await} of=${pass}>${() => null}<//>`;
  return html`<${Await} of=${lens} shape="tall">${(/** @type {Lens} */ found) =>
    html`<${Grid} lens=${found} pass=${pass.value} />`}<//>`;
}

/** The title of a row. @param {string} layer */
const title = (layer) =>
  layer === "embedding" ? strings.lens.embedding : strings.lens.layer(layer);

/** @param {{ lens: Lens, pass: Pass | undefined }} props */
function Grid({ lens, pass }) {
  const { token } = selection.value;
  const n = lens.tokens.length;
  const from = Math.max(
    0,
    Math.min(Number(extra("lens-from", String(Math.max(0, n - SHOWN)))) || 0, n - 1),
  );
  const places = [...Array(Math.min(SHOWN, n - from)).keys()].map((k) => from + k);
  const layer = Math.min(
    Number(extra("lens-layer", String(lens.layers.length - 1))) || 0,
    lens.layers.length - 1,
  );
  const at = token >= from && token < from + SHOWN ? token : (places.at(-1) ?? 0);
  const cell = lens.cells[layer]?.[at];
  const move = (/** @type {KeyboardEvent} */ event) => {
    const steps = /** @type {Record<string, [number, number]>} */ ({
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      ArrowUp: [1, 0],
      ArrowDown: [-1, 0],
    })[event.key];
    if (!steps) return;
    event.preventDefault();
    const next = Math.min(lens.layers.length - 1, Math.max(0, layer + steps[0]));
    const place = Math.min(places.at(-1) ?? 0, Math.max(from, at + steps[1]));
    setExtra({ "lens-layer": String(next) }, "replace");
    select({ token: place }, "glide");
    const button = /** @type {HTMLElement} */ (event.currentTarget).querySelector(
      `[data-cell="${next} ${place}"]`,
    );
    if (button instanceof HTMLElement) button.focus();
  };
  return html`
    <p class="soft">${strings.lens.norm(lens.norm)}</p>
    ${
      n > SHOWN &&
      html`<div class="row small">
      <button disabled=${from === 0} onClick=${() =>
        setExtra(
          { from: String(Math.max(0, from - SHOWN)) },
          "glide",
        )}>${strings.lens.earlier}</button>
      <span class="soft mono">${from} – ${from + places.length - 1} / ${n}</span>
      <button disabled=${from + SHOWN >= n} onClick=${() =>
        setExtra({ "lens-from": String(from + SHOWN) }, "glide")}>
        ${strings.lens.later}</button></div>`
    }
    <div class="scroll" tabindex="0" role="region" aria-label=${strings.views.lens.title}>
      <table class="lens" onKeyDown=${move}>
      <thead><tr><th>${strings.lens.reads}</th>${places.map(
        (i) => html`<th key=${i} scope="col"
        class=${i === at ? "at" : ""}><bdi>${word(lens.tokens[i])}</bdi></th>`,
      )}</tr></thead>
      <tbody>${lens.layers
        .map(
          (name, k) => html`<tr key=${name}>
        <th scope="row">${title(name)}</th>
        ${places.map((i) => {
          const found = lens.cells[k]?.[i];
          const best = found?.top[0];
          const p = best?.probability ?? 0;
          return html`<td key=${i}><button type="button" data-cell=${`${k} ${i}`}
            tabindex=${k === layer && i === at ? 0 : -1}
            aria-pressed=${k === layer && i === at ? "true" : "false"}
            class=${found?.next_rank === 1 ? "lens-cell right" : "lens-cell"}
            aria-label=${strings.lens.says(
              title(name),
              word(lens.tokens[i]),
              visible(best?.text ?? ""),
              percent(p),
            )}
            style=${{ background: heat(p), color: inkOn(p) }}
            onClick=${() => {
              setExtra({ "lens-layer": String(k) }, "replace");
              select({ token: i });
            }}><bdi>${visible(best?.text ?? "")}</bdi></button></td>`;
        })}</tr>`,
        )
        .reverse()}</tbody></table></div>
    <p class="small soft">${strings.lens.legend}</p>
    ${
      cell &&
      html`<section class="stack tight">
      <h2>${strings.lens.at(title(lens.layers[layer] ?? ""), word(lens.tokens[at]))}</h2>
      <${Bars} label=${strings.views.lens.title} bars=${cell.top.map((one) => ({
        key: one.id,
        text: visible(one.text),
        value: one.probability,
        place:
          layer === lens.layers.length - 1 && pass?.logits
            ? { kind: "probability", row: at, id: one.id }
            : null,
      }))} />
      <p class="small soft">${strings.lens.entropy(short(cell.entropy))}${" "}
        ${cell.next_rank != null ? strings.lens.rank(cell.next_rank) : ""}</p>
    </section>`
    }`;
}
