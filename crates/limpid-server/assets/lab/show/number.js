// A number of the engine: clicked, it opens to where it came from.
import { html } from "../ui.js";
import { full, short } from "../format.js";
import { openNumber } from "../state/numbers.js";
import { strings } from "../strings.js";

/**
 * @param {object} props
 * @param {number} props.value
 * @param {import("../state/numbers.js").Place | null} [props.place] where it stands in the pass
 * @param {string} [props.text] how it is written; four digits without
 * @param {string} [props.label] what it is, for a screen reader
 * @param {(place: import("../state/numbers.js").Place) => void} [props.open]
 */
export function Value({ value, place, text, label, open = openNumber }) {
  const written = text ?? short(value);
  if (!place) return html`<span class="num plain" title=${full(value)}>${written}</span>`;
  return html`<button type="button" class="num" title=${strings.why.open(full(value))}
    aria-label=${strings.why.openLabel(label ?? "", written)}
    onClick=${() => open(place)}>${written}</button>`;
}

/**
 * A stretch of a vector: each cell is a number that opens.
 * @param {object} props
 * @param {ArrayLike<number>} props.values
 * @param {(index: number) => import("../state/numbers.js").Place} props.place
 * @param {(value: number) => string} props.colour
 * @param {string} props.label
 */
export function Cells({ values, place, colour, label }) {
  return html`<div class="cells" role="group" aria-label=${label}>
    ${Array.from(values, (value, i) => html`<button type="button" key=${i} class="cell"
      style=${{ background: colour(value) }} title=${`${i}: ${full(value)}`}
      aria-label=${strings.why.cell(i, short(value))}
      onClick=${() => openNumber(place(i))}></button>`)}
  </div>`;
}
