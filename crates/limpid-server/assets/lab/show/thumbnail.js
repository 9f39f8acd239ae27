// A head in small: at most 64 × 64 bytes, painted in the colours of the theme.
import { html, useLayoutEffect, useRef } from "../ui.js";
import { heatTable } from "./colours.js";
import { paint } from "./heat-canvas.js";

/** @typedef {{ rows: number, columns: number, bytes: Uint8Array }} Small */

/** @param {{ of: Small | undefined }} props */
export function Thumbnail({ of }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const table = heatTable.value;
  useLayoutEffect(() => {
    if (canvas.current && of) paint(canvas.current, of.rows, of.columns, of.bytes, table);
  }, [of, table]);
  return html`<canvas class="thumbnail" ref=${canvas} width="1" height="1" aria-hidden="true">
  </canvas>`;
}
