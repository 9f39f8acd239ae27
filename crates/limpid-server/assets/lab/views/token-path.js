// The way of one token through the model: its embedding, its position, and its row of the residual
// stream after each layer. Every number of it opens.
import { html } from "../ui.js";
import { short } from "../format.js";
import { Await } from "../show/await.js";
import { signedColour } from "../show/colours.js";
import { Cells } from "../show/number.js";
import { word } from "../show/token.js";
import { loadRow } from "../state/attention.js";
import { side } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { extra, selection, setExtra } from "../state/selection.js";
import { strings } from "../strings.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {{ key: string, title: string, step: number, output: number, columns: number,
 *   norm: number | null, cosine: number | null }} Stage
 */

/** Numbers of a row that are shown at once. */
const SHOWN = 64;

/**
 * The stages of a token, in the order of the data.
 * @param {Pass} pass
 * @param {string} of
 * @param {number} at
 * @returns {Stage[]}
 */
export function stagesOf(pass, of, at) {
  const width = (/** @type {{ step: number, output: number }} */ one) =>
    pass.tensors.find((each) => each.step === one.step && each.output === one.output)?.columns ??
    0;
  const stream = pass.stream.filter((one) => one.of === of);
  const before = stream.length > 0 ? Math.min(...stream.map((one) => one.step)) : Infinity;
  const inputs = pass.tensors.filter(
    (one) =>
      one.of === of &&
      one.step < before &&
      (one.role === "embedding" || one.role === "position") &&
      one.rows > at,
  );
  return [
    ...inputs.map((one) => ({
      key: `${one.step} ${one.output}`,
      step: one.step,
      output: one.output,
      columns: one.columns,
      title: one.role === "position" ? strings.path.position : strings.path.embedding,
      norm: null,
      cosine: null,
    })),
    // A recurrent network has no stream through its layers, but states.
    ...pass.tensors.filter((one) => stream.length === 0 && one.of === of && one.rows > at
      && (one.role === "state" || one.role === "context")).map((one) => ({
      key: `${one.step} ${one.output}`, step: one.step, output: one.output,
      columns: one.columns, title: one.name, norm: null, cosine: null,
    })),
    ...stream.map((one) => ({
      key: `${one.step} ${one.output}`,
      step: one.step,
      output: one.output,
      columns: width(one),
      title: one.layer == null ? strings.path.sum : strings.path.after(one.layer),
      norm: one.norms[at] ?? null,
      cosine: one.cosines[at] ?? null,
    })),
  ].filter((one, k, all) => all.findIndex((each) => each.key === one.key) === k);
}

/** @param {{ pass: Pass }} props */
export function TokenPath({ pass }) {
  const { token, side: which } = selection.value;
  const of = which === "target" && pass.target ? "target" : "source";
  const tokens = side(pass, of);
  const at =
    token >= 0 && token < tokens.length
      ? token
      : of === "source" && !pass.target
        ? tokens.length - 1
        : 0;
  const stages = stagesOf(pass, of, at);
  const width = Math.max(0, ...stages.map((one) => one.columns));
  const from = Math.min(Number(extra("from", "0")) || 0, Math.max(0, width - 1));
  if (stages.length === 0 || tokens.length === 0) return null;
  return html`<section class="stack tight">
    <h2>${of === "target" && pass.output
      ? strings.path.titleRead(word(tokens[at]), word(pass.output[at]))
      : strings.path.title(word(tokens[at]))}</h2>
    <p class="soft">${strings.path.help(width)}</p>
    ${
      width > SHOWN &&
      html`<div class="row small">
      <button disabled=${from === 0} onClick=${() =>
        setExtra(
          { from: String(Math.max(0, from - SHOWN)) },
          "glide",
        )}>${strings.path.before}</button>
      <span class="soft mono">${from} – ${Math.min(width, from + SHOWN) - 1}</span>
      <button disabled=${from + SHOWN >= width} onClick=${() =>
        setExtra({ from: String(from + SHOWN) }, "glide")}>${strings.path.next}</button>
    </div>`
    }
    <ol class="stages">${stages.map(
      (stage) => html`<${StageRow} key=${stage.key} pass=${pass}
      stage=${stage} row=${at} from=${from} />`,
    )}</ol>
  </section>`;
}

/** @param {{ pass: Pass, stage: Stage, row: number, from: number }} props */
function StageRow({ pass, stage, row, from }) {
  const start = Math.min(from, Math.max(0, stage.columns - 1));
  const columns = Math.min(SHOWN, stage.columns - start);
  const found = useResource(
    columns > 0 ? `stage ${pass.id} ${stage.key} ${row} ${start}` : null,
    () => loadRow(pass, stage, row, start, columns),
  );
  return html`<li class="stage"><span class="stage-title">${stage.title}</span>
    <${Await} of=${found} shape="line">${(/** @type {Float32Array} */ values) => {
      const largest = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      return html`<${Cells} values=${values} label=${stage.title}
        colour=${(/** @type {number} */ value) => signedColour(value, largest)}
        place=${(/** @type {number} */ k) => ({
          kind: "output",
          step: stage.step,
          output: stage.output,
          row,
          column: start + k,
        })} />`;
    }}<//>
    <span class="small soft stage-facts">${
      stage.norm === null ? "" : strings.path.norm(short(stage.norm))
    }${stage.cosine === null ? "" : `, ${strings.path.cosine(short(stage.cosine))}`}</span>
  </li>`;
}
