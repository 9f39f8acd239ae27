// Tokens as text: always in text nodes, with everything invisible made visible.
import { html, useState } from "../ui.js";
import { hovered, select, selection } from "../state/selection.js";
import { strings } from "../strings.js";

/** @typedef {import("../api.js").Token} Token */

/** Controls of text direction and other characters without a shape, by their names. */
const NAMES = new Map([
  [0x200b, "ZWSP"], [0x200c, "ZWNJ"], [0x200e, "LRM"], [0x200f, "RLM"], [0x061c, "ALM"],
  [0x202a, "LRE"], [0x202b, "RLE"], [0x202c, "PDF"], [0x202d, "LRO"], [0x202e, "RLO"],
  [0x2066, "LRI"], [0x2067, "RLI"], [0x2068, "FSI"], [0x2069, "PDI"], [0xfeff, "BOM"],
  [0x00ad, "SHY"], [0x2028, "LS"], [0x2029, "PS"], [0x0a, "↵"], [0x0d, "CR"], [0x09, "⇥"],
]);

/**
 * Text as it can be shown: a leading or trailing space and every control has a sign.
 * @param {string} text
 * @returns {string}
 */
export function visible(text) {
  let out = "";
  for (const one of text) {
    const code = one.codePointAt(0) ?? 0;
    const name = NAMES.get(code);
    if (name) out += `⟨${name}⟩`;
    else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) out += `⟨${code.toString(16)}⟩`;
    else out += one;
  }
  const inner = out.trim();
  if (inner === "") return out === "" ? "∅" : "␣".repeat(Math.min(out.length, 8));
  return out.endsWith(" ") ? `${out.trimEnd()}␣` : out;
}

/** A token in a sentence of the page. @param {Token | undefined} token */
export const word = (token) => (token ? visible(token.text).trim() || "␣" : "?");

/** How many chips are shown at once: more would only be scrolled past. */
const WINDOW = 160;

/**
 * The tokens of a sequence as buttons that select a position.
 * @param {object} props
 * @param {Token[]} props.tokens
 * @param {string} props.side which sequence: "source" or "target"
 * @param {string} props.label what a screen reader calls it
 * @param {(index: number) => number} [props.weight] strength of the colour behind a token
 * @param {number} [props.selected]
 * @param {(index: number) => void} [props.onSelect]
 */
export function Tokens({ tokens, side, label, weight, selected, onSelect }) {
  const [start, setStart] = useState(0);
  const at = selected ?? selection.value.token;
  const choose = onSelect ?? ((index) => select({ token: index === at ? -1 : index }));
  const from = Math.min(start, Math.max(0, tokens.length - 1));
  const shown = tokens.slice(from, from + WINDOW);
  const over = hovered.value;
  return html`<div class="tokens" role="group" aria-label=${label}>
    ${from > 0 && html`<button class="quiet small"
      onClick=${() => setStart(Math.max(0, from - WINDOW))}>${strings.tokens.earlier}</button>`}
    ${shown.map((token, i) => {
      const index = from + i;
      const strength = weight?.(index) ?? 0;
      const kind = token.special ? " special" : token.unknown ? " unknown" : "";
      return html`<button key=${index} type="button"
        class=${`token${kind}${over?.side === side && over.token === index ? " over" : ""}`}
        aria-pressed=${index === at ? "true" : "false"}
        title=${strings.tokens.title(index, token.id, visible(token.piece))}
        style=${weight ? { "--strength": `${Math.round(Math.sqrt(strength) * 100)}%` } : undefined}
        onMouseEnter=${() => { hovered.value = { token: index, side }; }}
        onMouseLeave=${() => { hovered.value = null; }}
        onClick=${() => choose(index)}><bdi>${visible(token.text).trim() || "␣"}</bdi></button>`;
    })}
    ${from + WINDOW < tokens.length && html`<button class="quiet small"
      onClick=${() => setStart(from + WINDOW)}>
      ${strings.tokens.later(tokens.length - from - WINDOW)}</button>`}
  </div>`;
}
