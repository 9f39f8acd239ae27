// The demo models: which are there, and how far the others are.
import { html, useState } from "../ui.js";
import { duration, short } from "../format.js";
import { post } from "../state/api.js";
import { lab } from "../state/lab.js";
import { strings } from "../strings.js";
import { toast } from "./toast.js";

/**
 * Trains demo models.
 * @param {string[]} models
 */
export const trainDemo = (models) =>
  post("/api/demo", { models }).catch((error) => toast(error.message));

/** @param {{ only?: string[] }} props */
export function DemoProgress({ only }) {
  const demo = lab.value?.demo;
  const [asked, setAsked] = useState(false);
  const models = (demo?.models ?? []).filter((one) => !only || only.includes(one.id));
  if (!demo || models.length === 0) return null;
  const missing = models.filter((one) => one.state === "absent" || one.state === "failed");
  return html`<div class="demo stack tight">
    ${demo.problem && html`<p class="problem">${demo.problem}</p>`}
    <ul class="stack tight" aria-label=${strings.demo.label}>
      ${models.map((one) => html`<li key=${one.id} class="demo-row">
        <span>${one.title}</span>
        <progress max="1" value=${one.state === "ready" ? 1 : one.steps ? one.step / one.steps : 0}
          aria-label=${one.title}></progress>
        <span class="small soft">${one.state === "training"
          ? strings.demo.training(one.step, one.steps,
            one.seconds_left == null ? "" : duration(one.seconds_left),
            one.loss == null ? "" : short(one.loss))
          : strings.demo.states[/** @type {keyof typeof strings.demo.states} */ (one.state)]
            ?? one.state}</span>
      </li>`)}
    </ul>
    ${missing.length > 0 && html`<div><button class="primary" disabled=${asked}
      onClick=${() => {
        setAsked(true);
        trainDemo(missing.map((one) => one.id)).finally(() => setAsked(false));
      }}>${strings.demo.train(missing.length)}</button></div>`}
  </div>`;
}
