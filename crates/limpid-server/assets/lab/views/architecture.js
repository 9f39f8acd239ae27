// Architecture: what is it made of? Parameters, operations and memory of each part.
import { html } from "../ui.js";
import { about, bytes, count } from "../format.js";
import { Await } from "../show/await.js";
import { get, url } from "../state/api.js";
import { model } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { extra, setExtra } from "../state/selection.js";
import { strings } from "../strings.js";
import { Unusable } from "../shell/unusable.js";

/**
 * @typedef {import("../api.js").ModelDetail} ModelDetail
 * @typedef {import("../api.js").Cost} Cost
 * @typedef {import("../api.js").Param} Param
 * @typedef {{ name: string, path: string, count: number, params: Param[],
 *   children: Block[] }} Block
 */

export function View() {
  const one = model.value;
  const detail = useResource(one?.state === "ready" ? `detail ${one.id}` : null, (signal) =>
    get(url`/api/models/${one?.id ?? ""}`, signal),
  );
  if (!one || one.state !== "ready") return html`<${Unusable} model=${one} />`;
  return html`<${Await} of=${detail} shape="tall">${(/** @type {ModelDetail} */ found) => html`
    <${Facts} detail=${found} />
    <${Cost_} id=${found.model.id} most=${found.model.context || 2048} />
    <section class="stack tight"><h2>${strings.architecture.parts}</h2>
      <p class="soft">${strings.architecture.partsHelp}</p>
      <${Blocks} block=${tree(found.params)} total=${found.model.parameters}
        depth=${0} /></section>`}<//>`;
}

/** @param {{ detail: ModelDetail }} props */
function Facts({ detail }) {
  const { model: one } = detail;
  return html`<section class="stack tight">
    <dl class="facts-list">
      <dt>${strings.architecture.kind}</dt><dd>${strings.kinds[one.kind]}, ${detail.model_type}</dd>
      <dt>${strings.training.parameters}</dt><dd>${count(one.parameters)}</dd>
      <dt>${strings.architecture.vocabulary}</dt><dd>${count(one.vocab_size)}</dd>
      <dt>${strings.architecture.context}</dt><dd>${count(one.context)}</dd>
      ${detail.facts.map(
        (fact) => html`<dt key=${fact.name}>${fact.name}</dt>
        <dd>${fact.value}</dd>`,
      )}
      ${
        one.hash &&
        html`<dt>${strings.architecture.hash}</dt>
        <dd class="mono hash">${one.hash}</dd>`
      }
    </dl>
    ${detail.warnings.map((text) => html`<p class="note" key=${text}>${text}</p>`)}
    ${
      detail.missing.length > 0 &&
      html`<p class="problem">
      ${strings.architecture.missing(detail.missing.join(", "))}</p>`
    }
  </section>`;
}

/** @param {{ id: string, most: number }} props */
function Cost_({ id, most }) {
  const tokens = Math.min(
    most,
    Math.max(1, Number(extra("tokens", String(Math.min(most, 128)))) || 1),
  );
  const found = useResource(`cost ${id} ${tokens}`, (signal) =>
    get(`${url`/api/models/${id}/cost`}?tokens=${tokens}`, signal),
  );
  return html`<section class="stack tight"><h2>${strings.architecture.cost}</h2>
    <label class="slider wide"><span>${strings.architecture.length}</span>
      <input type="range" min="1" max=${most} step="1" value=${tokens}
        onInput=${(/** @type {Event} */ event) =>
          setExtra(
            {
              tokens: /** @type {HTMLInputElement} */ (event.currentTarget).value,
            },
            "glide",
          )} />
      <output>${count(tokens)}</output></label>
    <${Await} of=${found} shape="block">${(/** @type {Cost} */ cost) => {
      const largest = Math.max(1, ...cost.modules.map((one) => one.flops));
      return html`<dl class="facts-list">
        <dt>${strings.architecture.flops}</dt><dd>${about(cost.flops)}</dd>
        <dt>${strings.architecture.weights}</dt><dd>${bytes(cost.parameter_bytes)}</dd>
        <dt>${strings.architecture.activations}</dt><dd>${bytes(cost.activation_bytes)}</dd>
        <dt>${strings.architecture.cache}</dt><dd>${bytes(cost.cache_bytes)}</dd></dl>
        <div class="scroll" tabindex="0" role="region" aria-label=${strings.architecture.cost}>
        <table class="full"><thead><tr><th>${strings.architecture.part}</th>
          <th class="number">${strings.training.parameters}</th>
          <th class="number">${strings.architecture.flops}</th><th
            aria-hidden="true"></th></tr></thead>
        <tbody>${cost.modules.map(
          (one) => html`<tr key=${one.name}><td>${one.name}</td>
          <td class="number">${count(one.parameters)}</td><td
            class="number">${about(one.flops)}</td>
          <td class="share"><span style=${{ width: `${(one.flops / largest) * 100}%` }}></span></td>
        </tr>`,
        )}</tbody></table></div>`;
    }}<//></section>`;
}

/** Parameters as a tree of their names. @param {Param[]} params @returns {Block} */
function tree(params) {
  /** @type {Block} */
  const top = { name: "", path: "", count: 0, params: [], children: [] };
  for (const param of params) {
    let block = top;
    block.count += param.count;
    const parts = param.name.split(".");
    for (const part of parts.slice(0, -1)) {
      const path = block.path ? `${block.path}.${part}` : part;
      let next = block.children.find((one) => one.name === part);
      if (!next) {
        next = { name: part, path, count: 0, params: [], children: [] };
        block.children.push(next);
      }
      next.count += param.count;
      block = next;
    }
    block.params.push(param);
  }
  return top;
}

/** @param {{ block: Block, total: number, depth: number }} props */
function Blocks({ block, total, depth }) {
  return html`<ul class="blocks">
    ${block.children.map(
      (one) => html`<li key=${one.path}>
      <details open=${depth === 0 && block.children.length < 4}>
        <summary><span class="mono">${one.name}</span>
          <span class="soft small">${count(one.count)}</span>
          <span class="share" aria-hidden="true"><span
            style=${{ width: `${(one.count / Math.max(1,
              total)) * 100}%` }}></span></span></summary>
        <${Blocks} block=${one} total=${total} depth=${depth + 1} /></details></li>`,
    )}
    ${block.params.map(
      (one) => html`<li key=${one.name} class="param"><span class="mono">
      ${one.name.split(".").at(-1)}</span> <span
        class="soft small">[${one.shape.join(" × ")}] ${one.dtype}</span></li>`,
    )}
  </ul>`;
}
