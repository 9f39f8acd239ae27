// A short message at the bottom of the page, spoken too.
import { html, signal } from "../ui.js";

const messages = signal(/** @type {{ id: number, text: string }[]} */ ([]));
let last = 0;

/** @param {string} text */
export function toast(text) {
  const id = (last += 1);
  messages.value = [...messages.value, { id, text }];
  setTimeout(() => {
    messages.value = messages.value.filter((one) => one.id !== id);
  }, 5000);
}

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${messages.value.map(({ id, text }) => html`<div key=${id}>${text}</div>`)}
  </div>`;
}
