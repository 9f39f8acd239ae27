// A heat map to look at, walk through with the arrow keys, and hear.
import { effect, html, useEffect, useId, useLayoutEffect, useRef, useState } from "../ui.js";
import { heatTable } from "./colours.js";
import { HeatView } from "./heat-view.js";
import { strings } from "../strings.js";

/** @typedef {import("./heat-view.js").Cell} Cell */

/**
 * @param {object} props
 * @param {import("./heat-view.js").Matrix} props.matrix
 * @param {Cell | null} props.selected
 * @param {(cell: Cell, how: "step" | "glide") => void} props.onSelect
 * @param {(cell: Cell, weight: number | null) => string} props.describe a sentence about a cell
 * @param {(cell: Cell) => void} [props.onOpen] Enter, or a second click: why this number
 * @param {string} props.label
 */
export function HeatMap({ matrix, selected, onSelect, describe, onOpen, label }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const cells = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const marks = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  const view = useRef(/** @type {HeatView | null} */ (null));
  const drag = useRef(/** @type {{ x: number, y: number, moved: boolean } | null} */ (null));
  const [over, setOver] = useState(/** @type {Cell | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const help = useId();

  useLayoutEffect(() => {
    if (!box.current || !cells.current || !marks.current) return undefined;
    const made = new HeatView(cells.current, marks.current);
    made.onError = setError;
    view.current = made;
    const sized = new ResizeObserver(([entry]) => {
      if (entry) made.resize(entry.contentRect.width, entry.contentRect.height);
    });
    sized.observe(box.current);
    const box_ = box.current.getBoundingClientRect();
    made.resize(box_.width, box_.height);
    const stop = effect(() => made.setTable(heatTable.value));
    const draw = () => made.drawNow();
    addEventListener("limpid-draw", draw);
    return () => {
      removeEventListener("limpid-draw", draw);
      stop();
      sized.disconnect();
      made.end();
    };
  }, []);
  useLayoutEffect(() => view.current?.show(matrix), [matrix.key, matrix.rows, matrix.columns]);
  useEffect(() => view.current?.select(selected), [selected?.row, selected?.column, matrix.key]);
  useEffect(() => {
    if (!view.current) return;
    view.current.over = over;
    view.current.draw();
  }, [over?.row, over?.column]);

  const point = (/** @type {MouseEvent} */ event) => {
    const edge = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    return { x: event.clientX - edge.left, y: event.clientY - edge.top };
  };
  const find = (/** @type {MouseEvent} */ event) => {
    const { x, y } = point(event);
    return view.current?.cellAt(x, y) ?? null;
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const from = selected ?? { row: 0, column: 0 };
    const far = event.shiftKey ? 10 : 1;
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowUp: [-far, 0], ArrowDown: [far, 0], ArrowLeft: [0, -far], ArrowRight: [0, far],
      Home: [0, -Infinity], End: [0, Infinity], PageUp: [-Infinity, 0], PageDown: [Infinity, 0],
    };
    const move = moves[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (move) {
      const to = (/** @type {number} */ at, /** @type {number} */ by, /** @type {number} */ n) =>
        Math.min(n - 1, Math.max(0, selected ? at + by : at));
      onSelect({
        row: to(from.row, move[0], matrix.rows), column: to(from.column, move[1], matrix.columns),
      }, "glide");
    } else if (event.key === "+" || event.key === "=") view.current?.zoom(1.5);
    else if (event.key === "-") view.current?.zoom(1 / 1.5);
    else if (event.key === "0") view.current?.zoom(1e-9);
    else if (event.key === "Enter" && selected && onOpen) onOpen(selected);
    else return;
    event.preventDefault();
  };
  const shown = over ?? selected;
  const told = shown && shown.row < matrix.rows && shown.column < matrix.columns ? shown : null;
  return html`<figure class="heat">
    <div class="map" ref=${box} role="application" tabindex="0" aria-label=${label}
      aria-roledescription=${strings.heat.role} aria-describedby=${help}
      style=${{ "--rows": matrix.rows, "--columns": matrix.columns }}
      onKeyDown=${keys}
      onPointerDown=${(/** @type {PointerEvent} */ event) => {
        drag.current = { x: event.clientX, y: event.clientY, moved: false };
      }}
      onPointerMove=${(/** @type {PointerEvent} */ event) => {
        const from = drag.current;
        if (from && event.buttons === 1) {
          const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
          if (from.moved || Math.hypot(dx, dy) > 4) {
            view.current?.pan(dx, dy);
            drag.current = { x: event.clientX, y: event.clientY, moved: true };
          }
        } else setOver(find(event));
      }}
      onPointerLeave=${() => setOver(null)}
      onClick=${(/** @type {MouseEvent} */ event) => {
        const moved = drag.current?.moved;
        drag.current = null;
        const cell = find(event);
        if (cell && !moved) onSelect(cell, "step");
      }}
      onDblClick=${(/** @type {MouseEvent} */ event) => {
        const cell = find(event);
        if (cell && onOpen) onOpen(cell);
      }}
      onWheel=${(/** @type {WheelEvent} */ event) => {
        if (!event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        view.current?.zoom(Math.exp(-event.deltaY / 200), point(event).x - 92, point(event).y - 76);
      }}>
      <canvas class="cells-of-map" ref=${cells} aria-hidden="true"></canvas>
      <canvas class="marks" ref=${marks} aria-hidden="true"></canvas>
    </div>
    <figcaption class="row">
      <span class="sentence" aria-live="polite">${error ? error.message : told
        ? describe(told, view.current?.roughly(told) ?? null) : strings.heat.none}</span>
      <span class="spread"></span>
      <span class="row zoom">
        <button type="button" class="quiet" aria-label=${strings.heat.zoomOut}
          onClick=${() => view.current?.zoom(1 / 1.6)}>−</button>
        <button type="button" class="quiet" aria-label=${strings.heat.zoomIn}
          onClick=${() => view.current?.zoom(1.6)}>+</button>
        <button type="button" class="quiet" onClick=${() => view.current?.zoom(1e-9)}>
          ${strings.heat.all}</button>
      </span>
    </figcaption>
    <p id=${help} class="hidden-visually">${strings.heat.help}</p>
  </figure>`;
}
