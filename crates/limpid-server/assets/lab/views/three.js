// Three architectures: what did attention change? One sentence through a recurrent network with one
// context vector, one with attention, and a Transformer.
import { html } from "../ui.js";
import { count, percent, short } from "../format.js";
import { Await } from "../show/await.js";
import { visible, word } from "../show/token.js";
import { loadRow } from "../state/attention.js";
import { loadPass, lab } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { chooseModel } from "../state/lab.js";
import { extra, setExtra } from "../state/selection.js";
import { Typed } from "../shell/sentence-bar.js";
import { DemoProgress } from "../shell/demo.js";
import { strings } from "../strings.js";
import { Frame } from "./snapshots.js";

/** @typedef {import("../api.js").Pass} Pass */
/** @typedef {import("../api.js").Model} Model */

const NAMES = ["rnn", "rnn-attention", "fr-en"];

/** The three, as far as they are there. @returns {(Model | undefined)[]} */
function three() {
  const models = lab.value?.models ?? [];
  const recurrent = models.filter((one) => one.kind === "recurrent");
  const last = (/** @type {string} */ name) => (/** @type {Model} */ one) =>
    one.folder.replace(/\/+$/, "").split("/").at(-1) === name || one.name === name;
  return [
    models.find(last("rnn")) ?? recurrent.find((one) => !one.attention),
    models.find(last("rnn-attention")) ?? recurrent.find((one) => one.attention),
    models.find(last("fr-en")) ?? models.find((one) => one.kind === "encoder-decoder"),
  ];
}

/**
 * Sentences that grow: each is the one before and another clause.
 * @param {string} text
 * @param {number} times
 */
const longer = (text, times) => {
  const clause = text.replace(/[.!?]\s*$/, "");
  return times <= 1 ? text : `${Array(times).fill(clause).join(" et ")}.`;
};

/**
 * The snapshots of the run that a model came from, its last state included.
 * @param {Model | undefined} model
 */
function growth(model) {
  const run = model && lab.value?.runs.find((one) =>
    one.model === model.id || one.snapshots.some((each) => each.model === model.id));
  return run?.snapshots ?? [];
}

export function View() {
  const models = three();
  const grown = models.map(growth);
  const most = Math.max(...grown.map((one) => one.length));
  const at = Math.min(most, Number(extra("snapshot", String(most))) || 0);
  const missing = NAMES.filter((_, k) => models[k]?.state !== "ready");
  const base = extra("three") || models[2]?.example || strings.three.example;
  const times = Math.min(6, Math.max(1, Number(extra("times", "1")) || 1));
  const sentence = longer(base, times);
  return html`
    ${
      missing.length > 0 &&
      html`<p class="note">${strings.three.missing}</p>
      <${DemoProgress} only=${missing} />`
    }
    <${Typed} value=${base} label=${strings.three.sentence} lang="fr"
      onText=${(/** @type {string} */ three) => setExtra({ three })} />
    <label class="slider wide"><span>${strings.three.length}</span>
      <input type="range" min="1" max="6" step="1" value=${times}
        onInput=${(/** @type {Event} */ event) =>
          setExtra(
            {
              times: /** @type {HTMLInputElement} */ (event.currentTarget).value,
            },
            "glide",
          )} />
      <output>${strings.three.words(sentence.split(/\s+/).length)}</output></label>
    ${most > 0 && html`<label class="slider wide"><span>${strings.three.trained}</span>
      <input type="range" min="0" max=${most} step="1" value=${at}
        onInput=${(/** @type {Event} */ event) => setExtra({
          snapshot: /** @type {HTMLInputElement} */ (event.currentTarget).value }, "glide")} />
      <output>${at === most ? strings.three.whole
        : strings.snapshots.at(count(Math.max(...grown.map((one) => one[at]?.step ?? 0))))}
      </output></label>`}
    <p class="text soft"><bdi>${visible(sentence)}</bdi></p>
    <div class="three">${models.map(
      (one, k) => html`<section key=${k} class="card stack tight">
      <h2>${strings.three.titles[k]}</h2>
      <p class="small soft">${strings.three.about[k]}</p>
      ${
        one && one.state === "ready"
          ? html`<${Column} model=${one} sentence=${sentence}
              shown=${grown[k]?.[at]?.model ?? one.id} />`
          : html`<p class="soft">${strings.three.absent}</p>`
      }
    </section>`,
    )}</div>`;
}

/** @param {{ model: Model, sentence: string, shown: string }} props `shown` may be a snapshot */
function Column({ model, sentence, shown }) {
  const request = { model: shown, text: sentence };
  const found = useResource(`pass ${JSON.stringify(request)}`, () => loadPass(request));
  return html`<${Await} of=${found} shape="tall">${(/** @type {Pass} */ pass) => {
    const sure = pass.predictions.map(
      (one) => one.chosen?.probability ?? one.top[0]?.probability ?? 0,
    );
    const mean = sure.reduce((sum, one) => sum + one, 0) / Math.max(1, sure.length);
    return html`<${Frame} model=${shown} sentence=${sentence} />
      <p class="small soft">${strings.three.sure(percent(mean))}</p>
      ${!model.attention && html`<${States} pass=${pass} />`}
      <button onClick=${() => chooseModel(model.id)}>${strings.three.open}</button>`;
  }}<//>`;
}

/**
 * How long the state is after each word: all that the decoder gets.
 * @param {{ pass: Pass }} props
 */
function States({ pass }) {
  const all = pass.tensors.filter((one) => one.role === "state" && one.of === "source"
    && one.rows === pass.source.length);
  const states = all.at(-1);
  const found = useResource(states ? `states ${pass.id} ${states.step} ${states.output}` : null,
    async () => {
      const { columns = 0 } = states ?? {};
      const rows = await Promise.all(pass.source.map((_, row) => states
        ? loadRow(pass, states, row, 0, columns) : new Float32Array(0)));
      return rows.map((row) => Math.sqrt(row.reduce((sum, one) => sum + one * one, 0)));
    });
  if (!states) return null;
  return html`<${Await} of=${found}>${(/** @type {number[]} */ norms) => {
    const largest = Math.max(1e-9, ...norms);
    return html`<div class="states" role="img" aria-label=${strings.three.states}>${norms.map(
      (norm, k) => html`<span key=${k} style=${{ height: `${(norm / largest) * 3}rem` }}
        title=${`${word(pass.source[k])}: ${short(norm)}`}></span>`)}</div>
      <p class="small soft">${strings.three.statesHelp}</p>`;
  }}<//>`;
}
