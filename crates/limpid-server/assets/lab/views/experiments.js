// Experiments: is the claim true? Verdicts with their evidence, and the quick form to run.
import { html, useEffect, useState } from "../ui.js";
import { Await } from "../show/await.js";
import { get, post, text, url } from "../state/api.js";
import { on } from "../state/events.js";
import { useResource } from "../state/resource.js";
import { extra, setExtra } from "../state/selection.js";
import { toast } from "../shell/toast.js";
import { strings } from "../strings.js";

/** @typedef {import("../learn.js").ExperimentInfo} ExperimentInfo */

/** What running experiments say, by name. */
export function View() {
  const [round, setRound] = useState(0);
  const list = useResource(`experiments ${round}`, (signal) =>
    /** @type {Promise<{ experiments: ExperimentInfo[] }>} */ (get("/api/experiments", signal)));
  useEffect(() => on("experiment", () => setRound((n) => n + 1)), []);
  const running = list.value?.experiments.some((one) => one.state === "running");
  useEffect(() => {
    // Its last line is told when it is asked for.
    if (!running) return undefined;
    const timer = setTimeout(() => setRound((n) => n + 1), 2000);
    return () => clearTimeout(timer);
  }, [running, round]);
  return html`<${Await} of=${list} shape="tall">${(
    /** @type {{ experiments: ExperimentInfo[] }} */ all,
  ) => {
    const name = extra("experiment");
    return html`<ul class="experiments">${all.experiments.map(
      (one) => html`<li key=${one.name} class="card">
      <${Card} info=${one} open=${one.name === name} round=${round}
        onRun=${() => setRound((n) => n + 1)} /></li>`,
    )}</ul>`;
  }}<//>`;
}

/**
 * @param {{ info: ExperimentInfo, open: boolean, round: number,
 *   onRun: () => void }} props
 */
function Card({ info, open, round, onRun }) {
  const run = (/** @type {string} */ effort) =>
    post(url`/api/experiments/${info.name}/run`, { effort }).then(onRun, (error) =>
      toast(error.message),
    );
  const verdict = info.verdict ?? "";
  return html`<div class="stack tight">
    <div class="row"><h2>${info.name}</h2><span class="spread"></span>
      ${
        verdict &&
        html`<span class=${`verdict ${verdict}`}>
        ${
          strings.experiments.verdicts[
            /** @type {keyof typeof strings.experiments.verdicts} */ (verdict)
          ] ?? verdict
        }</span>`
      }</div>
    <p>${info.claim}</p>
    ${
      info.state === "running"
        ? html`<p class="small soft mono" role="status">
        ${info.line || strings.experiments.running}</p>`
        : html`<div class="row">
          <button onClick=${() => run("quick")}>${strings.experiments.quick}</button>
          <span class="small soft">${strings.experiments.minutes(info.minutes)}</span>
          ${
            info.state === "done" &&
            html`<button aria-expanded=${open ? "true" : "false"}
            onClick=${() => setExtra({ experiment: open ? "" : info.name })}>
            ${open ? strings.experiments.less : strings.experiments.more}</button>`
          }
        </div>`
    }
    ${open && info.state === "done" && html`<${Outcome} name=${info.name} round=${round} />`}
  </div>`;
}

/** @param {{ name: string, round: number }} props */
function Outcome({ name, round }) {
  const found = useResource(`outcome ${name} ${round}`, (signal) =>
    get(url`/api/experiments/${name}`, signal),
  );
  return html`<${Await} of=${found} shape="tall">${(/** @type {any} */ one) => html`
    <p class="soft">${one.method ?? ""}</p>
    <ul class="findings">${(one.findings ?? []).map(
      (/** @type {any} */ finding, /** @type {number} */ k) => html`
      <li key=${k}><span class=${`verdict ${finding.verdict}`}>
        ${strings.experiments.verdicts[/** @type {"confirmed"} */ (finding.verdict)]
          ?? finding.verdict}</span>
        ${finding.what} <span class="soft">${finding.evidence}</span></li>`,
    )}</ul>
    ${(one.pictures ?? []).map(
      (/** @type {string} */ picture) => html`
      <${Picture} key=${picture} experiment=${name} picture=${picture} />`,
    )}
    ${(one.tables ?? []).map(
      (/** @type {any} */ table, /** @type {number} */ k) => html`
      <div class="scroll" key=${k} tabindex="0" role="region" aria-label=${table.title}><table>
        <caption>${table.title}</caption>
        <thead><tr>${table.head.map((/** @type {string} */ head) => html`<th
          scope="col">${head}</th>`)}</tr></thead>
        <tbody>${table.rows.map(
          (/** @type {string[]} */ row) =>
            html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`,
        )}</tbody></table></div>`,
    )}`}<//>`;
}

/**
 * A figure, as an image: nothing in it can run.
 * @param {{ experiment: string, picture: string }} props
 */
function Picture({ experiment, picture }) {
  const [source, setSource] = useState("");
  useEffect(() => {
    let made = "";
    let wanted = true;
    text(url`/api/experiments/${experiment}/pictures/${picture}`).then(
      (svg) => {
        if (!wanted) return;
        made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
        setSource(made);
      },
      () => {},
    );
    return () => {
      wanted = false;
      if (made) URL.revokeObjectURL(made);
    };
  }, [experiment, picture]);
  return source
    ? html`<img class="picture" src=${source} alt=${picture.replaceAll("-", " ")} />`
    : html`<div class="waiting tall"></div>`;
}
