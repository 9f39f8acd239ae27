// The states of an answer: on its way, failed with what to do, or there.
import { html } from "../ui.js";
import { ApiError } from "../state/api.js";
import { chooseText, text } from "../state/lab.js";
import { forget } from "../state/resource.js";
import { strings } from "../strings.js";

/**
 * What went wrong and what to do about it.
 * @param {{ error: Error, retry?: () => void }} props
 */
export function Failure({ error, retry }) {
  const known = error instanceof ApiError ? error : null;
  const tooLong = known?.code === "too_long";
  const again = retry ?? (() => {
    forget();
    location.reload();
  });
  return html`<div class="failure" role="alert">
    <p><strong>${error.message}</strong></p>
    ${known?.hint && html`<p class="soft">${known.hint}</p>`}
    <div class="row">
      ${tooLong && html`<button onClick=${() => chooseText(half(text.value))}>
        ${strings.errors.half}</button>`}
      ${known && known.status !== 422 && html`<button onClick=${again}>
        ${strings.errors.again}</button>`}
    </div>
  </div>`;
}

/** The first half of a text, up to a space. @param {string} text */
function half(text) {
  const middle = text.lastIndexOf(" ", Math.ceil(text.length / 2));
  return text.slice(0, middle > 0 ? middle : Math.ceil(text.length / 2));
}

/**
 * @template T
 * @param {object} props
 * @param {import("../state/resource.js").Resource<T>} props.of
 * @param {(value: T) => unknown} props.children
 * @param {string} [props.waiting] what a screen reader hears meanwhile
 * @param {string} [props.shape] how much room to keep: "line", "block" or "tall"
 */
export function Await({ of, children, waiting = strings.waiting, shape = "block" }) {
  if (of.error) return html`<${Failure} error=${of.error} />`;
  if (of.value === undefined) {
    return html`<div class=${`waiting ${shape}`} role="status">
      <span class="hidden-visually">${waiting}</span></div>`;
  }
  return html`<div class=${of.stale ? "stack stale" : "stack"} aria-busy=${of.stale}>
    ${children(of.value)}</div>`;
}

/**
 * Nothing to show, and what to do about it.
 * @param {{ title: string, children?: any }} props
 */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}
