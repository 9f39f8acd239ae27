// Worked examples: can I do it by hand? The numbers can be replaced; the kernels compute again.
import { html, useEffect, useState } from "../ui.js";
import { Await, Failure } from "../show/await.js";
import { short } from "../format.js";
import { get, post, url } from "../state/api.js";
import { useResource } from "../state/resource.js";
import { extra, setExtra } from "../state/selection.js";
import { strings } from "../strings.js";
import { Command } from "../show/command.js";

/** @typedef {import("../learn.js").ExampleInfo} ExampleInfo */

export function View() {
  const list = useResource("examples", (signal) => get("/api/examples", signal));
  return html`<${Await} of=${list} shape="tall">${(
    /** @type {{ examples: ExampleInfo[] }} */ found,
  ) => {
    const name = extra("example");
    const one = found.examples.find((each) => each.name === name) ?? found.examples[0];
    return html`<div class="catalogue">
      <nav aria-label=${strings.views.examples.title}><ol class="list">${found.examples.map(
        (each) => html`
        <li key=${each.name}><button class="quiet" aria-pressed=${each === one ? "true" : "false"}
          title=${each.summary} onClick=${() => setExtra({ example: each.name, options: "" })}>
          ${each.title}</button></li>`,
      )}</ol></nav>
      ${one && html`<${Example} key=${one.name} info=${one} />`}</div>`;
  }}<//>`;
}

/** The options in the address. @returns {Record<string, string>} */
function optionsOf() {
  try {
    const found = JSON.parse(extra("options", "{}"));
    return found && typeof found === "object" ? found : {};
  } catch {
    return {};
  }
}

/** @param {{ info: ExampleInfo }} props */
function Example({ info }) {
  const options = optionsOf();
  const found = useResource(`example ${info.name} ${JSON.stringify(options)}`, (signal) =>
    post(url`/api/examples/${info.name}`, { options }, signal),
  );
  const set = (/** @type {string} */ name, /** @type {string} */ value) => {
    const { [name]: _, ...others } = options;
    const next = value.trim() === "" ? others : { ...others, [name]: value };
    setExtra({ options: Object.keys(next).length > 0 ? JSON.stringify(next) : "" });
  };
  const command = [
    "limpid explain",
    info.name,
    ...Object.entries(options).map(([name, value]) => `--${name} "${value}"`),
  ].join(" ");
  return html`<article class="stack">
    <header><h2>${info.title}</h2><p class="soft">${info.summary}</p></header>
    ${
      info.options.length > 0 &&
      html`<div class="fields">${info.options.map(
        (one) => html`
      <${Option} key=${one.name} option=${one} value=${options[one.name] ?? ""}
        onSet=${(/** @type {string} */ value) => set(one.name, value)} />`,
      )}</div>`
    }
    ${
      found.error
        ? html`<${Failure} error=${found.error} retry=${() => setExtra({ options: "" })} />`
        : html`<${Await} of=${found} shape="tall">${(/** @type {any} */ one) =>
            html`<${Steps} explanation=${one} />`}<//>`
    }
    <${Command} text=${command} />
    ${
      info.see_also.length > 0 &&
      html`<p class="small">${strings.examples.see}
      ${info.see_also.map(
        (name) => html` <button key=${name} class="link"
        onClick=${() => setExtra({ example: name, options: "" })}>${name}</button>`,
      )}</p>`
    }
  </article>`;
}

/**
 * @param {{ option: ExampleInfo["options"][number], value: string,
 *   onSet: (value: string) => void }} props
 */
function Option({ option, value, onSet }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const take = (/** @type {Event} */ event) =>
    /** @type {HTMLInputElement} */ (event.currentTarget).value;
  return html`<label title=${option.help}><span>${option.name}
      <span class="soft small">${option.help}</span></span>
    ${
      option.choices?.length
        ? html`<select value=${value || option.default}
          onChange=${(/** @type {Event} */ event) => onSet(take(event))}>
          ${option.choices.map((one) => html`<option key=${one}
            value=${one}>${one}</option>`)}</select>`
        : html`<input type="text" class="mono" value=${typed} placeholder=${option.default}
          onInput=${(/** @type {Event} */ event) => setTyped(take(event))}
          onChange=${(/** @type {Event} */ event) => onSet(take(event))} />`
    }</label>`;
}

/** @param {{ explanation: any }} props */
export function Steps({ explanation }) {
  const [hidden, setHidden] = useState(false);
  return html`<p>${explanation.introduction}</p>
    <div><button aria-pressed=${hidden ? "true" : "false"} onClick=${() => setHidden(!hidden)}>
      ${hidden ? strings.examples.reveal : strings.examples.quiz}</button></div>
    <ol class=${hidden ? "steps quiz" : "steps"}>
    ${explanation.steps.map(
      (/** @type {any} */ step, /** @type {number} */ k) => html`
      <li key=${k} class="stack tight"><h3>${step.title}</h3>
        <p><code>${step.formula}</code></p>
        ${step.why && html`<p class="soft">${step.why}</p>`}
        ${step.tables.map(
          (/** @type {any} */ table, /** @type {number} */ j) => html`
          <${Numbers} key=${j} table=${table} hidden=${hidden} />`,
        )}
        ${step.notes.map(
          (/** @type {any} */ note, /** @type {number} */ j) => html`
          <${Note} key=${j} note=${note} />`,
        )}
      </li>`,
    )}</ol>`;
}

/** @param {{ table: any, hidden: boolean }} props */
function Numbers({ table, hidden }) {
  const [shown, setShown] = useState(/** @type {Set<string>} */ (new Set()));
  useEffect(() => setShown(new Set()), [hidden]);
  const cell = (/** @type {unknown} */ value) =>
    value === null
      ? ""
      : value === "-inf"
        ? "−∞"
        : typeof value === "number"
          ? short(value)
          : String(value);
  return html`<div class="scroll" tabindex="0" role=${table.title ? "region" : undefined}
    aria-label=${table.title || undefined}><table>
    <caption>${table.title}</caption>
    ${
      table.col_labels.length > 0 &&
      html`<thead><tr>${table.row_labels.length > 0 && html`<td></td>`}
      ${table.col_labels.map(
        (/** @type {string} */ one, /** @type {number} */ k) =>
          html`<th key=${k} scope="col">${one}</th>`,
      )}</tr></thead>`
    }
    <tbody>${table.cells.map(
      (/** @type {unknown[]} */ row, /** @type {number} */ i) => html`<tr key=${i}>
      ${table.row_labels.length > 0 && html`<th scope="row">${table.row_labels[i]}</th>`}
      ${row.map((value, j) => {
        const key = `${i} ${j}`;
        const covered = hidden && typeof value === "number" && !shown.has(key);
        return html`<td key=${j} class=${typeof value === "string" && value !== "-inf" ? ""
          : "number"}>
          ${
            covered
              ? html`<button class="covered" aria-label=${strings.examples.cover}
            onClick=${() => setShown(new Set([...shown, key]))}>?</button>`
              : cell(value)
          }</td>`;
      })}</tr>`,
    )}</tbody></table></div>`;
}

/** @param {{ note: any }} props */
function Note({ note }) {
  if (note.kind !== "misconception") return html`<p class="note">${note.text}</p>`;
  return html`<p class="note"><strong>${strings.examples.claimed}</strong> ${note.claim}${" "}
    <strong>${strings.examples.correct}</strong> ${note.correct} ${note.reason}</p>`;
}
