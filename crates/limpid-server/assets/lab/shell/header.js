// The top of the page: which model, undo, save, theme.
import { html } from "../ui.js";
import { about } from "../format.js";
import { chooseTheme, chosenTheme } from "../show/colours.js";
import { chooseModel, lab, model } from "../state/lab.js";
import { address, canRedo, canUndo, redo, undo } from "../state/selection.js";
import { strings } from "../strings.js";
import { saveView } from "./save.js";
import { toast } from "./toast.js";

const THEMES = ["auto", "light", "dark"];

export function Header() {
  const one = model.value;
  const models = lab.value?.models ?? [];
  const theme = chosenTheme.value;
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? "auto";
  const save = () =>
    saveView().then(
      (name) => toast(strings.save.done(name)),
      (error) => toast(error.message),
    );
  return html`<header class="header">
    <a class="wordmark" href=${address({ view: "sentence", why: "" })}>
      limpid <span>lab</span></a>
    <div class="model">
      ${
        models.length > 0 &&
        html`
        <label class="hidden-visually" for="model">${strings.shell.model}</label>
        <select id="model" value=${one?.id ?? ""}
          onChange=${(/** @type {Event} */ event) =>
            chooseModel(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
          ${!one && html`<option value="">${strings.shell.noModel}</option>`}
          ${models.map(
            (each) => html`<option key=${each.id} value=${each.id}>
            ${each.name}${each.state === "ready" ? "" : ` (${strings.states[each.state]})`}
          </option>`,
          )}
        </select>`
      }
      ${
        one &&
        one.state === "ready" &&
        html`<span class="facts">
        ${strings.kinds[one.kind]}, ${strings.shell.facts(about(one.parameters), one.layers,
          one.heads)}
      </span>`
      }
    </div>
    <div class="tools">
      <button type="button" class="quiet" disabled=${!canUndo.value} onClick=${undo}
        aria-label=${strings.shell.undo} title=${strings.shell.undo}>↶</button>
      <button type="button" class="quiet" disabled=${!canRedo.value} onClick=${redo}
        aria-label=${strings.shell.redo} title=${strings.shell.redo}>↷</button>
      <button type="button" class="quiet" onClick=${save} title=${strings.save.title}>
        ${strings.save.button}</button>
      <button type="button" class="quiet" onClick=${() => chooseTheme(next)}
        title=${strings.shell.themeTitle}>${strings.shell.theme(theme)}</button>
    </div>
  </header>`;
}
