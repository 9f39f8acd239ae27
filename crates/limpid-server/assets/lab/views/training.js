// Training: is it learning? Runs are started, watched, compared, stopped and resumed.
import { html, useEffect, useState } from "../ui.js";
import { count, short } from "../format.js";
import { Await, Empty } from "../show/await.js";
import { Chart } from "../show/chart.js";
import { Command } from "../show/command.js";
import { visible } from "../show/token.js";
import { get, post, url } from "../state/api.js";
import { lab } from "../state/lab.js";
import { curveOf, metricsOf, refresh } from "../state/metrics.js";
import { useResource } from "../state/resource.js";
import { extra, select, setExtra } from "../state/selection.js";
import { toast } from "../shell/toast.js";
import { strings } from "../strings.js";
import { NewRun } from "./new-run.js";
import { Snapshots } from "./snapshots.js";

/** @typedef {import("../api.js").Run} Run */

export function View() {
  const runs = lab.value?.runs ?? [];
  const asked = extra("runs").split(",").filter(Boolean);
  const shown = runs.filter((one) => asked.includes(one.id));
  const first =
    shown.length > 0 ? shown : runs.filter((one) => one.state === "running").slice(0, 1);
  const [making, setMaking] = useState(false);
  return html`
    ${
      making || runs.length === 0
        ? html`<${NewRun} onStarted=${(/** @type {string} */ id) => {
            setMaking(false);
            setExtra({ runs: id });
          }} onClose=${runs.length > 0 ? () => setMaking(false) : undefined} />`
        : html`<div><button class="primary" onClick=${() => setMaking(true)}>
          ${strings.training.start}</button></div>`
    }
    ${
      runs.length === 0
        ? html`<${Empty} title=${strings.training.none} />`
        : html`<${RunList} runs=${runs} shown=${first} />`
    }
    ${first.length > 0 && html`<${Curves} runs=${first} />`}
    ${first.length === 1 && first[0] && html`<${RunDetail} run=${first[0]} key=${first[0].id} />`}`;
}

/** @param {{ runs: Run[], shown: Run[] }} props */
function RunList({ runs, shown }) {
  const toggle = (/** @type {string} */ id) => {
    const ids = shown.map((one) => one.id);
    setExtra({
      runs: (ids.includes(id) ? ids.filter((one) => one !== id) : [...ids, id]).join(","),
    });
  };
  return html`<section class="stack tight"><h2>${strings.training.runs}</h2>
    <div class="scroll" tabindex="0" role="region" aria-label=${strings.training.runs}>
    <table class="full runs"><thead><tr><th>${strings.training.show}</th>
      <th>${strings.training.name}</th>
      <th>${strings.training.state}</th><th class="number">${strings.training.step}</th>
      <th class="number">${strings.training.loss}</th><th>
        <span class="hidden-visually">${strings.training.actions}</span></th></tr></thead>
    <tbody>${runs.map(
      (run) => html`<tr key=${run.id}>
      <td><input type="checkbox" aria-label=${strings.training.compare(run.name)}
        checked=${shown.some((one) => one.id === run.id)} onChange=${() => toggle(run.id)} /></td>
      <td>${run.name}</td>
      <td>${
        strings.training.states[
          /** @type {keyof typeof strings.training.states} */ (run.state)
        ] ?? run.state
      }</td>
      <td class="number">${count(run.step)} / ${count(run.steps)}</td>
      <td class="number">${run.loss == null ? "–" : short(run.loss)}</td>
      <td><${Actions} run=${run} /></td>
    </tr>`,
    )}</tbody></table></div></section>`;
}

/** @param {{ run: Run }} props */
function Actions({ run }) {
  const [busy, setBusy] = useState(false);
  const act = (/** @type {string} */ what) => {
    setBusy(true);
    post(url`/api/runs/${run.id}/${what}`, {})
      .then(
        () => refresh(run.id),
        (error) => toast(error.message),
      )
      .finally(() => setBusy(false));
  };
  return html`<span class="row">
    ${
      run.state === "running" &&
      html`<button disabled=${busy} onClick=${() => act("stop")}>
      ${strings.training.stop}</button>`
    }
    ${
      (run.state === "stopped" || run.state === "failed") &&
      html`<button disabled=${busy}
      onClick=${() => act("resume")}>${strings.training.resume}</button>`
    }
    ${
      run.model &&
      html`<button onClick=${() =>
        select({
          view: "sentence",
          model: run.model ?? "",
          text: "",
          target: "",
          token: -1,
          key: -1,
          why: "",
          more: "",
        })}>${strings.training.look}</button>`
    }
  </span>`;
}

/** @param {{ runs: Run[] }} props */
function Curves({ runs }) {
  const all = runs.map((run) => ({ run, lines: metricsOf(run.id) }));
  const kinds = [["train", strings.training.trained], ["validation", strings.training.heldOut]];
  const curves = all.flatMap(({ run, lines }) =>
    kinds.map(([kind = "", title = ""]) => ({
      name: runs.length > 1 ? `${run.name}, ${title}` : title,
      ...curveOf(lines, kind, "loss"),
    })).filter((one) => one.x.length > 0));
  const last = curves[0]?.y.at(-1);
  if (curves.length === 0 && runs.every((run) => run.state !== "running")) {
    return html`<p class="note">${strings.training.nothing}</p>`;
  }
  if (curves.length === 0)
    return html`<div class="waiting tall" role="status">
    <span class="hidden-visually">${strings.training.waiting}</span></div>`;
  return html`<${Chart} curves=${curves} label=${strings.training.curve}
    axis=${strings.training.step}
    summary=${
      last === undefined || last === null
        ? ""
        : strings.training.last(short(last), short(curves[0]?.y[0] ?? 0))
    } />`;
}

/** @param {{ run: Run }} props */
function RunDetail({ run }) {
  const detail = useResource(
    `run ${run.id} ${run.state} ${Math.floor(run.step / 100)}`,
    (signal) => get(url`/api/runs/${run.id}`, signal),
  );
  const lines = metricsOf(run.id);
  const samples = lines.filter((one) => one["kind"] === "sample");
  const [frame, setFrame] = useState("");
  useEffect(() => setFrame(""), [run.id]);
  const rate = lines.findLast((one) => one["kind"] === "train")?.["tokens_per_second"];
  return html`<section class="stack">
    <h2>${run.name}</h2>
    ${run.problem && html`<p class="problem">${run.problem}</p>`}
    <div class="progress-row"><progress max=${Math.max(1, run.steps)} value=${run.step}
      aria-label=${run.name}></progress>
      <span class="small soft">${strings.training.at(count(run.step), count(run.steps))}
        ${typeof rate === "number" ? `, ${strings.training.rate(count(rate))}` : ""}
      </span></div>
    ${
      samples.length > 0 &&
      html`<section class="stack tight"><h3>${strings.training.samples}</h3>
      <ul class="samples">${samples.slice(-6).reverse().map((one, k) => html`<li key=${k}>
        <span class="small soft mono">${one["step"]}</span>
        <span><bdi class="soft">${visible(String(one["prompt"] ?? ""))}</bdi>${" "}
          <bdi>${visible(String(one["text"] ?? ""))}</bdi>
          ${one["reference"] && html`<span class="small soft reference">
            ${strings.training.reference(visible(String(one["reference"])))}</span>`}</span>
      </li>`)}</ul></section>`
    }
    ${run.snapshots.length > 0 && html`<${Snapshots} run=${run} />`}
    <${Await} of=${detail}>${(/** @type {import("../api.js").RunDetail} */ found) => html`
      <${Command} text=${run.command} />
      <details><summary>${strings.training.config}</summary><pre>${found.config}</pre></details>
      <details><summary>${strings.training.log}</summary><pre>${found.log}</pre></details>`}<//>
    <div class="row"><button onClick=${() =>
      post("/api/frames", { run: run.id }).then(
        (/** @type {any} */ one) => setFrame(one.url),
        (error) => toast(error.message),
      )}>
      ${strings.training.report}</button></div>
    ${
      frame &&
      html`<iframe sandbox="" title=${strings.training.report} src=${frame}
      class="report"></iframe>`
    }
  </section>`;
}
