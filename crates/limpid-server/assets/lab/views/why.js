// Why this number: the opened number in full, with what it is computed from.
import { html, useState } from "../ui.js";
import { Await } from "../show/await.js";
import { usePass } from "../state/lab.js";
import { openNumber, opened } from "../state/numbers.js";
import { strings } from "../strings.js";
import { Chain } from "../why/chain.js";

/** @typedef {import("../api.js").Pass} Pass */

export function View() {
  const pass = usePass();
  return html`<${Await} of=${pass} shape="tall">${(/** @type {Pass} */ found) => html`
    ${
      opened.value.length > 0
        ? html`<div class="why-large"><${Chain} /></div>`
        : html`<p>${strings.why.choose}</p>`
    }
    <${Places} pass=${found} />`}<//>`;
}

/**
 * A place to begin: the best prediction, or any element of any tensor.
 * @param {{ pass: Pass }} props
 */
function Places({ pass }) {
  const last = pass.predictions.at(-1);
  const best = last?.top[0];
  const tensors = pass.tensors.filter((one) => one.rows > 0 && one.columns > 0);
  const [chosen, setChosen] = useState(0);
  const [row, setRow] = useState(0);
  const [column, setColumn] = useState(0);
  const tensor = tensors[chosen];
  const anything = () => {
    const one = tensors[Math.floor(Math.random() * tensors.length)];
    if (!one) return;
    openNumber({
      kind: "output",
      step: one.step,
      output: one.output,
      row: Math.floor(Math.random() * one.rows),
      column: Math.floor(Math.random() * one.columns),
    });
  };
  const bound = (/** @type {Event} */ event, /** @type {number} */ n) =>
    Math.min(
      n - 1,
      Math.max(
        0,
        Math.floor(Number(/** @type {HTMLInputElement} */ (event.currentTarget).value) || 0),
      ),
    );
  return html`<section class="stack tight"><h2>${strings.why.begin}</h2>
    <div class="row">
      ${
        last?.row != null &&
        best &&
        pass.logits &&
        html`<button class="primary" onClick=${() =>
          openNumber({ kind: "probability", row: last.row ?? 0, id: best.id })}>
        ${strings.why.best}</button>`
      }
      <button onClick=${anything}>${strings.why.random}</button>
    </div>
    ${
      tensor &&
      html`<form class="row" onSubmit=${(/** @type {Event} */ event) => {
        event.preventDefault();
        openNumber({ kind: "output", step: tensor.step, output: tensor.output, row, column });
      }}>
      <label>${strings.why.tensor} <select value=${chosen}
        onChange=${(/** @type {Event} */ event) => {
          setChosen(Number(/** @type {HTMLSelectElement} */ (event.currentTarget).value));
          setRow(0);
          setColumn(0);
        }}>${tensors.map(
          (one, k) => html`<option key=${k} value=${k}>
          ${one.name} (${one.rows} × ${one.columns})</option>`,
        )}</select></label>
      <label>${strings.why.row} <input type="number" min="0" max=${tensor.rows - 1} value=${row}
        onInput=${(/** @type {Event} */ event) => setRow(bound(event, tensor.rows))} /></label>
      <label>${strings.why.column} <input type="number" min="0" max=${tensor.columns - 1}
        value=${column} onInput=${(/** @type {Event} */ event) =>
          setColumn(bound(event, tensor.columns))} /></label>
      <button>${strings.why.go}</button>
    </form>`
    }
  </section>`;
}
