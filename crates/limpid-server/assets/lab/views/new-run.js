// A new run: what to learn from, how large, and what that takes.
import { html, useEffect, useState } from "../ui.js";
import { about, bytes, count, duration } from "../format.js";
import { Await, Failure } from "../show/await.js";
import { get, post } from "../state/api.js";
import { useResource } from "../state/resource.js";
import { strings } from "../strings.js";

/**
 * @typedef {import("../api.js").Training} Training
 * @typedef {import("../api.js").TrainRequest} TrainRequest
 * @typedef {import("../api.js").Estimate} Estimate
 */

const SIZES = /** @type {const} */ ([
  "layers",
  "heads",
  "hidden_size",
  "context_length",
  "steps",
  "batch_tokens",
  "learning_rate",
  "seed",
]);

/** Sizes to begin with: seconds, minutes, an hour on an ordinary machine. */
const PRESETS = /** @type {const} */ ([
  { name: "small", sizes: { layers: 2, heads: 2, hidden_size: 64, steps: 300 } },
  { name: "medium", sizes: { layers: 4, heads: 4, hidden_size: 128, steps: 2000 } },
  { name: "large", sizes: { layers: 6, heads: 8, hidden_size: 256, steps: 10000 } },
]);

/** @param {{ onStarted: (run: string) => void, onClose?: () => void }} props */
export function NewRun({ onStarted, onClose }) {
  const found = useResource("training", (signal) => get("/api/training", signal));
  return html`<section class="stack card"><div class="row"><h2>${strings.training.start}</h2>
    <span class="spread"></span>${
      onClose &&
      html`<button class="quiet" onClick=${onClose}
      aria-label=${strings.training.close}>✕</button>`
    }</div>
    <${Await} of=${found} shape="tall">${(/** @type {Training} */ one) =>
      html`<${Form} training=${one} onStarted=${onStarted} />`}<//></section>`;
}

/** @param {{ training: Training, onStarted: (run: string) => void }} props */
function Form({ training, onStarted }) {
  const [task, setTask] = useState(training.tasks[0]?.task ?? "gpt");
  const corpora = training.corpora.filter((one) => one.tasks.includes(task));
  const [corpus, setCorpus] = useState(corpora[0]?.id ?? "");
  const [name, setName] = useState("");
  const [arch, setArch] = useState("");
  const [attention, setAttention] = useState("additive");
  const [sizes, setSizes] = useState(/** @type {Record<string, number>} */ ({}));
  const [estimate, setEstimate] = useState(/** @type {Estimate | null} */ (null));
  const [failed, setFailed] = useState(/** @type {Error | null} */ (null));
  const [busy, setBusy] = useState(false);
  const chosen = corpora.some((one) => one.id === corpus) ? corpus : (corpora[0]?.id ?? "");
  const info = training.tasks.find((one) => one.task === task);
  const archs = info?.archs ?? [];
  /** @type {Record<string, number>} */
  const defaults = /** @type {any} */ (info?.defaults ?? {});
  /** @type {TrainRequest} */
  const request = {
    name: name || `${task}-${chosen}`.replace(/[^A-Za-z0-9-]+/g, "-").slice(0, 40),
    task,
    corpus: chosen,
    ...(archs.includes(arch) && arch !== archs[0] ? { arch } : {}),
    ...(archs.includes(arch) && arch === "rnn" ? { attention } : {}),
    ...defaults,
    ...sizes,
    snapshots: true,
  };
  const key = JSON.stringify(request);
  useEffect(() => {
    // The estimate follows the form, a moment behind.
    let wanted = true;
    const timer = setTimeout(() => {
      post("/api/training/estimate", request).then(
        (value) => {
          if (!wanted) return;
          setEstimate(/** @type {Estimate} */ (value));
          setFailed(null);
        },
        (error) => wanted && setFailed(error),
      );
    }, 200);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [key]);
  const value = (/** @type {Event} */ event) =>
    /** @type {HTMLInputElement} */ (event.currentTarget).value;
  const start = (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    post("/api/training", request)
      .then((/** @type {any} */ run) => onStarted(run.run), setFailed)
      .finally(() => setBusy(false));
  };
  return html`<form class="stack" onSubmit=${start}>
    <div class="fields">
      <label>${strings.training.task}<select value=${task}
        onChange=${(/** @type {Event} */ event) => setTask(/** @type {"gpt"} */ (value(event)))}>
        ${training.tasks.map(
          (one) => html`<option key=${one.task} value=${one.task}>
          ${one.title}</option>`,
        )}</select></label>
      <label>${strings.training.corpus}<select value=${chosen}
        onChange=${(/** @type {Event} */ event) => setCorpus(value(event))}>
        ${corpora.map(
          (one) =>
            html`<option key=${one.id} value=${one.id}>${one.title}${
              one.lines > 0 ? ` (${strings.training.lines(count(one.lines))})` : ""
            }</option>`,
        )}</select></label>
      ${
        archs.length > 1 &&
        html`<label>${strings.training.arch}<select value=${arch || archs[0]}
        onChange=${(/** @type {Event} */ event) => setArch(value(event))}>
        ${archs.map((one) => html`<option key=${one}
          value=${one}>${one}</option>`)}</select></label>`
      }
      ${archs.includes(arch) && arch === "rnn" && html`<label>${strings.views.attention.title}
        <select value=${attention}
        onChange=${(/** @type {Event} */ event) => setAttention(value(event))}>
        ${["none", "dot", "additive"].map((one) => html`<option key=${one} value=${one}>
          ${one}</option>`)}</select></label>`}
      <label>${strings.training.name}<input type="text" value=${name} placeholder=${request.name}
        onInput=${(/** @type {Event} */ event) => setName(value(event))} /></label>
    </div>
    <div class="row" role="group" aria-label=${strings.training.presets}>
      ${PRESETS.map((one) => html`<button type="button" key=${one.name}
        onClick=${() => setSizes({ ...sizes, ...one.sizes })}>
        ${strings.training.preset[one.name]}</button>`)}
      <button type="button" class="quiet" onClick=${() => setSizes({})}>
        ${strings.training.defaults}</button>
    </div>
    <div class="fields sizes">${SIZES.map(
      (size) => html`<label key=${size}>
      ${strings.training.sizes[size]}<input type="number" min="0" step="any"
        value=${sizes[size] ?? defaults[size] ?? ""}
        onInput=${(/** @type {Event} */ event) => {
          const next = value(event);
          setSizes(({ [size]: _, ...others }) =>
            next === "" ? others : { ...others, [size]: Number(next) },
          );
        }} /></label>`,
    )}</div>
    <dl class="facts-list" aria-live="polite">
      <dt>${strings.training.parameters}</dt><dd>${estimate ? about(estimate.parameters) : "…"}</dd>
      <dt>${strings.training.memory}</dt><dd>${estimate ? bytes(estimate.memory_bytes) : "…"}
        ${
          estimate?.available_bytes
            ? html`<span class="soft">
          ${strings.training.available(bytes(estimate.available_bytes))}</span>`
            : ""
        }</dd>
      <dt>${strings.training.time}</dt><dd>${
        estimate
          ? estimate.seconds == null
            ? "–"
            : strings.training.aboutTime(duration(estimate.seconds))
          : "…"
      }</dd>
    </dl>
    ${
      estimate?.problem &&
      html`<p class="problem">${estimate.problem.message}
      <span class="soft">${estimate.problem.hint}</span></p>`
    }
    ${failed && html`<${Failure} error=${failed} retry=${() => setFailed(null)} />`}
    <div><button class="primary" disabled=${busy || chosen === "" || estimate?.fits === false}>
      ${strings.training.begin}</button></div>
  </form>`;
}
