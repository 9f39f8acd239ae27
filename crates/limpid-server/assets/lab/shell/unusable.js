// Why a model or a view cannot be shown, and what to do.
import { html } from "../ui.js";
import { Empty } from "../show/await.js";
import { chooseModel, lab } from "../state/lab.js";
import { address } from "../state/selection.js";
import { strings } from "../strings.js";
import { DemoProgress } from "./demo.js";

/** @param {{ model: import("../api.js").Model | null }} props */
export function Unusable({ model }) {
  const ready = (lab.value?.models ?? []).filter((one) => one.state === "ready");
  if (!model) {
    return html`<${Empty} title=${ready.length > 0 ? strings.unusable.unknown
      : strings.unusable.none}>
      <${Others} models=${ready} />
      ${ready.length === 0 && html`<${DemoProgress} />`}
    <//>`;
  }
  return html`<${Empty} title=${strings.unusable[model.state](model.name)}>
    ${model.problem && html`<p class="problem">${model.problem}</p>`}
    ${
      model.state !== "training" &&
      html`<p class="soft">${strings.unusable.check}${" "}
      <code>${strings.unusable.command(model.folder)}</code></p>`
    }
    ${model.source === "demo" && html`<${DemoProgress} />`}
    ${
      model.state === "training" &&
      model.source === "run" &&
      html`
      <p><a href=${address({ view: "training" })}>${strings.unusable.watch}</a></p>`
    }
    <${Others} models=${ready} />
  <//>`;
}

/** @param {{ view: import("./views.js").View }} props */
export function Unfit({ view }) {
  const models = (lab.value?.models ?? []).filter(
    (one) => one.state === "ready" && view.fits(one),
  );
  const why = strings.unfit[/** @type {keyof typeof strings.unfit} */ (view.name)];
  return html`<${Empty} title=${why ?? strings.unfit.attention}>
    <${Others} models=${models} />
    ${
      models.length === 0 &&
      html`<p class="soft">${strings.unfit.train}${" "}
      <a href=${address({ view: "training" })}>${strings.views.training.title}</a></p>`
    }
  <//>`;
}

/** @param {{ models: import("../api.js").Model[] }} props */
function Others({ models }) {
  if (models.length === 0) return null;
  return html`<p>${strings.unusable.others}</p>
    <div class="row">${models.slice(0, 8).map(
      (one) => html`<button key=${one.id}
      onClick=${() => chooseModel(one.id)}>${one.name}</button>`,
    )}</div>`;
}
