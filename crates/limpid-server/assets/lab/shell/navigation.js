// The list of views.
import { html, useEffect, useRef } from "../ui.js";
import { model } from "../state/lab.js";
import { address, selection } from "../state/selection.js";
import { strings } from "../strings.js";
import { titleOf, viewOf, views } from "./views.js";

const GROUPS = /** @type {const} */ (["start", "inside", "ask", "make"]);

export function Navigation() {
  const current = viewOf(selection.value.view).name;
  const one = model.value;
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    // On a phone the list scrolls sideways: bring the current view into sight.
    const link = list.current?.querySelector("[aria-current]");
    if (list.current && link instanceof HTMLElement && list.current.scrollWidth > innerWidth) {
      list.current.scrollTo({ left: link.offsetLeft - 80 });
    }
  }, [current]);
  return html`<nav class="nav" ref=${list} aria-label=${strings.shell.navigation}>
    ${GROUPS.map((group) => html`
      ${group !== "start" && html`<h2>${strings.groups[group]}</h2>`}
      <ul>${views.filter((view) => view.group === group).map((view) => html`<li key=${view.name}>
        <a href=${address({ view: view.name })}
          class=${one && !view.fits(one) ? "unfit" : ""}
          aria-current=${view.name === current ? "page" : undefined}>
          ${titleOf(view.name).title}</a></li>`)}</ul>`)}
  </nav>`;
}
