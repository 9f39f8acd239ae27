// Beams: what was dropped, and when. Each column is a step of the search.
import { html } from "../ui.js";
import { percent, short } from "../format.js";
import { Await } from "../show/await.js";
import { visible } from "../show/token.js";
import { post } from "../state/api.js";
import { model, text } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { extra, select, selection, setExtra } from "../state/selection.js";
import { strings } from "../strings.js";

/** @typedef {import("../api.js").Beams} Beams */
/** @typedef {Beams["steps"][number]["candidates"][number]} Candidate */
/** @typedef {{ candidate: Candidate, parent: number, x: number, y: number, kept: boolean,
 *   best: boolean }} Node */

const WIDTH = 132;
const HEIGHT = 34;

export function View() {
  const width = Math.min(16, Math.max(1, Number(extra("width", "4")) || 4));
  const penalty = Number(extra("penalty", "1"));
  const body = {
    model: model.value?.id,
    text: text.value,
    width,
    max_new_tokens: 24,
    ...(Number.isFinite(penalty) && penalty !== 1 ? { length_penalty: penalty } : {}),
  };
  const found = useResource(
    text.value === "" ? null : `beams ${JSON.stringify(body)}`,
    (signal) => post("/api/beams", body, signal),
  );
  const value = (/** @type {Event} */ event) =>
    /** @type {HTMLInputElement} */ (event.currentTarget).value;
  return html`
    <form class="controls" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
      <label class="slider"><span>${strings.beams.width}</span>
        <input type="range" min="1" max="16" step="1" value=${width}
          onInput=${(/** @type {Event} */ event) => setExtra({ width: value(event) }, "glide")} />
        <output>${width}</output></label>
      <label class="slider"><span>${strings.beams.penalty}</span>
        <input type="range" min="0" max="2" step="0.1" value=${penalty}
          onInput=${(/** @type {Event} */ event) => setExtra({ penalty: value(event) }, "glide")} />
        <output>${penalty.toFixed(1)}</output></label>
    </form>
    <${Await} of=${found} shape="tall">${(/** @type {Beams} */ one) =>
      html`<${Tree} beams=${one} />`}<//>`;
}

/** @param {import("../api.js").Token[]} tokens */
const ids = (tokens) => tokens.map((one) => one.id);

/**
 * Places of all candidates. A beam is the candidate of the step before that has its tokens.
 * @param {Beams} beams
 */
function layout(beams) {
  const finished = beams.steps.at(-1)?.finished[0] ?? beams.steps.at(-1)?.running[0];
  const best = finished ? ids(finished.tokens).join() : "";
  /** @type {Node[][]} */
  const columns = [];
  /** @type {Map<string, number>} where the candidates of the step before stand, by their tokens */
  let before = new Map();
  let last = { column: -1, row: -1 };
  for (const [k, step] of beams.steps.entries()) {
    /** @type {Map<string, number>} */
    const rows = new Map();
    columns.push(step.candidates.map((candidate, row) => {
      const tokens = ids(step.beams[candidate.beam]?.tokens ?? []);
      const all = [...tokens, candidate.id].join();
      rows.set(all, row);
      if (all === best || (candidate.finishes && tokens.join() === best)) last = { column: k, row };
      return {
        candidate, parent: before.get(tokens.join()) ?? 0, x: (k + 1) * WIDTH, y: row * HEIGHT,
        kept: candidate.kept || candidate.finishes, best: false,
      };
    }));
    before = rows;
  }
  for (let { column, row } = last; column >= 0; column -= 1) {
    const node = columns[column]?.[row];
    if (!node) break;
    node.best = true;
    row = node.parent;
  }
  return columns;
}

/** A line that leaves and arrives level.
 * @param {number} x @param {number} y @param {number} x2 @param {number} y2 */
const curve = (x, y, x2, y2) => `M ${x} ${y} C ${x + 12} ${y}, ${x2 - 12} ${y2}, ${x2} ${y2}`;

/** @param {{ beams: Beams }} props */
function Tree({ beams }) {
  const columns = layout(beams);
  const rows = Math.max(1, ...columns.map((column) => column.length));
  const step = Math.min(selection.value.step, columns.length - 1);
  const row = Number(extra("node", "-1"));
  const node = columns[step]?.[row];
  const path = [];
  for (let k = step, r = row; k >= 0; k -= 1) {
    const one = columns[k]?.[r];
    if (!one) break;
    path.unshift(one.candidate.text);
    r = one.parent;
  }
  return html`
    <ol class="results">${beams.results.map(
      (one, k) => html`<li key=${k}
      class=${k === 0 ? "best" : ""}><bdi>${visible(one.text)}</bdi>
      <span class="mono soft">${short(one.score)}</span></li>`,
    )}</ol>
    <div class="scroll beam-tree" tabindex="0" role="region" aria-label=${strings.beams.tree}>
      <div style=${{
        position: "relative",
        width: `${(columns.length + 1) * WIDTH}px`,
        height: `${rows * HEIGHT}px`,
      }}>
        <svg aria-hidden="true" width=${(columns.length + 1) * WIDTH} height=${rows * HEIGHT}>
          ${columns.flatMap((column, k) =>
            column.map((one, r) => {
              const from = k === 0 ? 0 : (columns[k - 1]?.[one.parent]?.y ?? 0);
              const x = one.x - WIDTH + (k === 0 ? 60 : 116);
              return html`<path key=${`${k} ${r}`} class=${one.best ? "best" : one.kept
                ? "" : "dropped"}
              d=${curve(x, from + 15, one.x, one.y + 15)} />`;
            }),
          )}
        </svg>
        <span class="beam-start small soft">${strings.beams.start}</span>
        ${columns.flatMap((column, k) =>
          column.map(
            (one, r) => html`<button type="button"
          key=${`${k} ${r}`} aria-pressed=${k === step && r === row ? "true" : "false"}
          class=${`node${one.kept ? "" : " dropped"}${one.best ? " best" : ""}`}
          style=${{ transform: `translate(${one.x}px, ${one.y}px)` }}
          aria-label=${strings.beams.node(
            k + 1,
            visible(one.candidate.text),
            short(one.candidate.sum),
            one.kept,
          )}
          onClick=${() => {
            setExtra({ node: String(r) }, "replace");
            select({ step: k });
          }}><bdi>${visible(one.candidate.text)}</bdi>${" "}
          <span class="mono">${short(one.candidate.sum)}</span></button>`,
          ),
        )}
      </div>
    </div>
    <p class="small soft">${strings.beams.legend}</p>
    ${
      node &&
      html`<section class="stack tight" aria-live="polite">
      <h2><bdi>${path.map((one) => visible(one)).join(" ")}</bdi></h2>
      <p>${strings.beams.detail(
        percent(Math.exp(node.candidate.log_probability)),
        short(node.candidate.log_probability),
        short(node.candidate.sum),
      )}</p>
      <p>${
        node.candidate.finishes
          ? strings.beams.finished
          : node.candidate.kept
            ? strings.beams.kept
            : strings.beams.dropped(step + 1)
      }</p>
    </section>`
    }`;
}
