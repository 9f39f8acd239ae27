// The tour: one sentence from letters to translation, in ten stations.
import { html, useEffect } from "../ui.js";
import { Await } from "../show/await.js";
import { lab, loadPass, model, text } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { extra, select, selection, setExtra } from "../state/selection.js";
import { Typed } from "../shell/sentence-bar.js";
import { DemoProgress } from "../shell/demo.js";
import { strings } from "../strings.js";
import { stations } from "./stations.js";

/** @typedef {import("../api.js").Pass} Pass */

/** A Transformer that translates: the tour is about one. */
const guide = () => {
  const one = model.value;
  if (one?.kind === "encoder-decoder" && one.state === "ready") return one;
  return lab.value?.models.find(
    (each) => each.kind === "encoder-decoder" && each.state === "ready",
  );
};

export function View() {
  const one = guide();
  useEffect(() => {
    // The tour takes its model along, so that a number which is opened is one of this sentence.
    if (one && selection.value.model !== one.id) {
      select({ model: one.id, text: "", target: "", token: -1, side: "", why: "" }, "replace");
    }
  }, [one?.id]);
  if (!one) {
    return html`<p class="note">${strings.tour.needs}</p><${DemoProgress} />`;
  }
  return html`<${Walk} one=${one} />`;
}

/** @param {{ one: import("../api.js").Model }} props */
function Walk({ one }) {
  const at = Math.min(stations.length - 1, Math.max(0, Number(extra("station", "0")) || 0));
  const sentence = model.value?.id === one.id ? text.value : one.example;
  const request = { model: one.id, text: sentence };
  const pass = useSentence(request);
  const told = strings.tour.stations[at];
  const go = (/** @type {number} */ station) => {
    if (selection.value.why) select({ why: "" }, "replace");
    setExtra({ station: station === 0 ? "" : String(station) });
  };
  const Station = stations[at];
  return html`
    <ol class="stations" aria-label=${strings.tour.label}>${strings.tour.stations.map(
      (station, k) => html`
      <li key=${k}><button aria-current=${k === at ? "step" : undefined}
        class=${k < at ? "past" : ""} onClick=${() => go(k)}>
        <span class="stop">${k + 1}</span><span
          class="stop-name">${station.title}</span></button></li>`,
    )}
    </ol>
    <${Typed} value=${sentence} label=${strings.tour.sentence} lang=${one.languages?.[0]}
      onText=${(/** @type {string} */ next) => select({ text: next, token: -1, why: "" })} />
    <section class="station stack" key=${at}>
      <h2>${at + 1}. ${told?.title}</h2>
      <p class="lead">${told?.text}</p>
      <${Await} of=${pass} shape="tall">${(/** @type {Pass} */ found) =>
        html`<${Station} pass=${found} />`}<//>
      <p class="try"><strong>${strings.tour.try}</strong> ${told?.try}</p>
      <div class="row">
        <button disabled=${at === 0} onClick=${() => go(at - 1)}>${strings.tour.back}</button>
        <button class="primary" disabled=${at === stations.length - 1} onClick=${() => go(at + 1)}>
          ${strings.tour.next}</button>
      </div>
    </section>`;
}

/** @param {{ model: string, text: string }} request */
const useSentence = (request) =>
  useResource(request.text === "" ? null : `pass ${JSON.stringify(request)}`, () =>
    loadPass(request),
  );
