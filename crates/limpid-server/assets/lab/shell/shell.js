// The frame of the page, and the view that is selected in it.
import { html, useEffect, useErrorBoundary, useRef, useState } from "../ui.js";
import { Failure } from "../show/await.js";
import { connected } from "../state/events.js";
import { lab, labError, model } from "../state/lab.js";
import { opened } from "../state/numbers.js";
import { redo, selection, undo } from "../state/selection.js";
import { strings } from "../strings.js";
import { WhyPanel } from "../why/panel.js";
import { Header } from "./header.js";
import { Navigation } from "./navigation.js";
import { SentenceBar } from "./sentence-bar.js";
import { Toasts } from "./toast.js";
import { Unfit, Unusable } from "./unusable.js";
import { titleOf, viewOf } from "./views.js";

export function Shell() {
  const view = viewOf(selection.value.view);
  const { title } = titleOf(view.name);
  useEffect(() => {
    document.title = strings.shell.title(title);
  }, [title]);
  useEffect(() => {
    addEventListener("keydown", shortcuts);
    return () => removeEventListener("keydown", shortcuts);
  }, []);
  const panel =
    opened.value.length > 0 && view.name !== "why" && (view.sentence || view.name === "tour");
  return html`
    <a class="skip" href="#main" onClick=${skip}>${strings.shell.skip}</a>
    <div class="app">
      <${Header} />
      <${Navigation} />
      <main class="main" id="main" tabindex="-1">
        ${!connected.value && html`<p class="banner" role="status">${strings.shell.gone}</p>`}
        ${
          labError.value
            ? html`<${Failure} error=${labError.value} />`
            : html`<${Place} key=${view.name} view=${view} />`
        }
      </main>
      ${panel && html`<${WhyPanel} />`}
    </div>
    <${Toasts} />`;
}

/**
 * A view with its sentence, or why it cannot be shown.
 * @param {{ view: import("./views.js").View }} props
 */
function Place({ view }) {
  const one = model.value;
  const { title, question } = titleOf(view.name);
  const known = lab.value !== null;
  const unusable = view.sentence && known && (!one || one.state !== "ready");
  const unfit = !unusable && view.sentence && one && !view.fits(one);
  return html`
    ${view.sentence && html`<${SentenceBar} />`}
    <article class="view" data-view=${view.name}>
      <header><h1>${title}</h1><p>${question}</p></header>
      ${
        !known
          ? html`<div class="waiting tall" role="status">
          <span class="hidden-visually">${strings.waiting}</span></div>`
          : unusable
            ? html`<${Unusable} model=${one} />`
            : unfit
              ? html`<${Unfit} view=${view} />`
              : html`<${Body} view=${view} />`
      }
    </article>`;
}

/** The module of a view, once it is there. @param {{ view: import("./views.js").View }} props */
function Body({ view }) {
  const [found, setFound] = useState(/** @type {{ View: any } | null} */ (null));
  const [broken, reset] = useErrorBoundary();
  const [failed, setFailed] = useState(/** @type {Error | null} */ (null));
  const tries = useRef(0);
  useEffect(() => {
    view.load().then((loaded) => setFound({ View: loaded["View"] }), setFailed);
  }, [tries.current]);
  const error = broken ?? failed;
  if (error) {
    return html`<${Failure} error=${error} retry=${() => {
      tries.current += 1;
      setFailed(null);
      reset();
    }} />`;
  }
  return found ? html`<${found.View} />` : html`<div class="waiting tall"></div>`;
}

/** @param {KeyboardEvent} event */
function shortcuts(event) {
  const typing =
    event.target instanceof HTMLInputElement ||
    event.target instanceof HTMLTextAreaElement ||
    event.target instanceof HTMLSelectElement;
  if (typing || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
  event.preventDefault();
  if (event.shiftKey) redo();
  else undo();
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}
