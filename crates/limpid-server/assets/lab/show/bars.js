// Probabilities as bars; behind them, where it is known, the truth as ghosts.
import { html } from "../ui.js";
import { percent } from "../format.js";
import { Value } from "./number.js";
import { visible } from "./token.js";
import { strings } from "../strings.js";

/**
 * @typedef {object} Bar
 * @property {number | string} key
 * @property {string} text
 * @property {number} value from 0 to 1
 * @property {number | null} [truth] the exact probability
 * @property {boolean} [chosen]
 * @property {boolean} [cut] whether a filter took it out
 * @property {import("../state/numbers.js").Place | null} [place]
 */

/**
 * @param {object} props
 * @param {Bar[]} props.bars
 * @param {string} props.label
 * @param {(bar: Bar) => void} [props.onChoose]
 * @param {(bar: Bar) => string} [props.chooseLabel]
 */
export function Bars({ bars, label, onChoose, chooseLabel }) {
  const largest = Math.max(1e-9, ...bars.map((bar) => Math.max(bar.value, bar.truth ?? 0)));
  const scale = largest > 0.5 ? 1 : largest * 1.05;
  return html`<ul class="bars" aria-label=${label}>
    ${bars.map((bar) => html`<li key=${bar.key}
      class=${`${bar.chosen ? "chosen" : ""}${bar.cut ? " cut" : ""}`}>
      ${onChoose
        ? html`<button type="button" class="name" aria-label=${chooseLabel?.(bar)}
            onClick=${() => onChoose(bar)}><bdi>${visible(bar.text)}</bdi></button>`
        : html`<span class="name"><bdi>${visible(bar.text)}</bdi></span>`}
      <span class="track">
        ${bar.truth != null && bar.truth > 0 && html`<span class="ghost"
          style=${{ width: `${(bar.truth / scale) * 100}%` }}></span>`}
        <span class="bar" style=${{ width: `${(bar.value / scale) * 100}%` }}></span>
      </span>
      <span class="value">
        <${Value} value=${bar.value} text=${percent(bar.value)} place=${bar.place ?? null}
          label=${visible(bar.text)} />
        ${bar.truth != null && html`<span class="truth" title=${strings.truth.label}>
          ${percent(bar.truth)}</span>`}
      </span>
    </li>`)}
  </ul>`;
}
