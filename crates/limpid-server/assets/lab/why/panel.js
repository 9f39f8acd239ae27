// The opened number beside a view.
import { html, useEffect, useRef } from "../ui.js";
import { closeNumbers } from "../state/numbers.js";
import { address, selection } from "../state/selection.js";
import { strings } from "../strings.js";
import { Chain } from "./chain.js";

export function WhyPanel() {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const why = selection.value.why;
  useEffect(() => {
    box.current?.scrollTo({ top: 0 });
  }, [why]);
  useEffect(() => {
    // The keyboard follows a number that was opened, and comes back when it is closed.
    const before = document.activeElement;
    box.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  useEffect(() => {
    // Of the document: a number that was clicked is gone with its focus when the next one is shown.
    const close = (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") closeNumbers();
    };
    document.addEventListener("keydown", close);
    return () => document.removeEventListener("keydown", close);
  }, []);
  return html`<aside class="why" ref=${box} tabindex="-1" aria-label=${strings.why.title}>
    <div class="row">
      <h2>${strings.why.title}</h2>
      <span class="spread"></span>
      <a class="small" href=${address({ view: "why" })}>${strings.why.large}</a>
      <button type="button" class="quiet" onClick=${closeNumbers}
        aria-label=${strings.why.close}>✕</button>
    </div>
    <${Chain} />
  </aside>`;
}
