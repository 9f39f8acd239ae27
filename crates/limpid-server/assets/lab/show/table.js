// The same as a picture, as a table: for screen readers, for copying, for exact values.
import { html, useState } from "../ui.js";
import { strings } from "../strings.js";

/**
 * @param {object} props
 * @param {string} props.caption
 * @param {number} props.rows
 * @param {number} props.columns
 * @param {(row: number) => string} props.rowLabel
 * @param {(column: number) => string} props.columnLabel
 * @param {(row: number, column: number) => any} props.cell
 * @param {number} [props.row] the row to show when not all fit
 * @param {number} [props.column]
 * @param {(open: boolean) => void} [props.onOpen]
 */
export function AsTable(props) {
  const [open, setOpen] = useState(false);
  return html`<details class="as-table" open=${open}
    onToggle=${(/** @type {Event} */ event) => {
      const now = /** @type {HTMLDetailsElement} */ (event.currentTarget).open;
      setOpen(now);
      props.onOpen?.(now);
    }}>
    <summary>${strings.table.show}</summary>
    ${open && html`<${Grid} ...${props} />`}
  </details>`;
}

const ROWS = 24;
const COLUMNS = 24;

/** @param {Parameters<typeof AsTable>[0]} props */
function Grid({ caption, rows, columns, rowLabel, columnLabel, cell, row = 0, column = 0 }) {
  const top = Math.max(0, Math.min(row - ROWS / 2, rows - ROWS));
  const left = Math.max(0, Math.min(column - COLUMNS / 2, columns - COLUMNS));
  const height = Math.min(ROWS, rows);
  const width = Math.min(COLUMNS, columns);
  const part = rows > ROWS || columns > COLUMNS;
  const list = (/** @type {number} */ n) => [...Array(n).keys()];
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table>
    <caption>${caption}${part && ` ${strings.table.part(top, height, left, width)}`}</caption>
    <thead><tr><td></td>${list(width).map((j) =>
      html`<th key=${j} scope="col"><bdi>${columnLabel(left + j)}</bdi></th>`)}</tr></thead>
    <tbody>${list(height).map((i) => html`<tr key=${i}>
      <th scope="row"><bdi>${rowLabel(top + i)}</bdi></th>
      ${list(width).map((j) => html`<td key=${j} class="number">${cell(top + i, left + j)}</td>`)}
    </tr>`)}</tbody>
  </table></div>`;
}
