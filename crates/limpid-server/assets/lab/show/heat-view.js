// The drawing of a heat map: tiles, labels, cursor. It knows nothing of models.
import { CanvasTiles } from "./heat-canvas.js";
import { GUTTER, clamp, placeOf, reveal, tileKey, tilesOf, topLevel, whole, zoom }
  from "./heat-frame.js";
import { WebglTiles } from "./heat-webgl.js";

/**
 * @typedef {object} Matrix
 * @property {string} key whose matrix it is
 * @property {number} rows
 * @property {number} columns
 * @property {(tile: import("./heat-frame.js").TileName) =>
 *   Promise<{ rows: number, columns: number, bytes: Uint8Array }>} load
 * @property {(row: number) => string} rowLabel
 * @property {(column: number) => string} columnLabel
 */
/** @typedef {{ row: number, column: number }} Cell */

/** Tiles that are kept: 64 bytes × 256 × 256 = 4 MB. */
const KEPT = 64;

/** Without a graphics card WebGL may be slower than a canvas; `?canvas` in tests forces it. */
const forced = () => new URLSearchParams(location.search).has("canvas");

export class HeatView {
  /**
   * @param {HTMLCanvasElement} canvas of the cells
   * @param {HTMLCanvasElement} overlay of labels and cursor
   */
  constructor(canvas, overlay) {
    this.canvas = canvas;
    this.overlay = overlay;
    this.tiles = (forced() ? null : WebglTiles.on(canvas)) ?? CanvasTiles.on(canvas);
    /** @type {Matrix | null} */
    this.matrix = null;
    this.frame = { x: 0, y: 0, scale: 1 };
    this.size = { width: 0, height: 0, density: 1 };
    /** @type {Cell | null} */
    this.cursor = null;
    /** @type {Cell | null} */
    this.over = null;
    /** @type {Map<string, { tile: any, rows: number, columns: number, bytes: Uint8Array }>} */
    this.known = new Map();
    /** @type {Set<string>} */
    this.asked = new Set();
    this.scheduled = 0;
    /** Calls back with what went wrong, or nothing. @type {(error: Error | null) => void} */
    this.onError = () => {};
  }

  /** Another matrix, or another size of the same. @param {Matrix} matrix */
  show(matrix) {
    const other = this.matrix?.key !== matrix.key;
    const resized = this.matrix?.rows !== matrix.rows || this.matrix?.columns !== matrix.columns;
    this.matrix = matrix;
    if (other) {
      for (const key of this.known.keys()) this.tiles?.drop(key);
      this.known.clear();
      this.asked.clear();
    }
    if (resized) this.fit();
    this.draw();
  }

  /** Takes the size of the element. @param {number} width @param {number} height */
  resize(width, height) {
    const density = Math.min(2, devicePixelRatio || 1);
    this.size = {
      width: Math.max(1, width - GUTTER.left), height: Math.max(1, height - GUTTER.top), density,
    };
    this.canvas.width = Math.round(this.size.width * density);
    this.canvas.height = Math.round(this.size.height * density);
    this.overlay.width = Math.round(width * density);
    this.overlay.height = Math.round(height * density);
    this.fit();
    this.draw();
  }

  fit() {
    const { matrix, size } = this;
    if (matrix) this.frame = whole(matrix.rows, matrix.columns, size.width, size.height);
  }

  /** @param {import("./heat-frame.js").Frame} frame */
  move(frame) {
    const { matrix, size } = this;
    if (!matrix) return;
    this.frame = clamp(frame, matrix.rows, matrix.columns, size.width, size.height);
    this.draw();
  }

  /** @param {number} factor @param {number} [px] @param {number} [py] */
  zoom(factor, px, py) {
    const { frame, size, cursor } = this;
    const x = px ?? (cursor ? (cursor.column + 0.5 - frame.x) * frame.scale : size.width / 2);
    const y = py ?? (cursor ? (cursor.row + 0.5 - frame.y) * frame.scale : size.height / 2);
    this.move(zoom(frame, factor, x, y));
  }

  /** @param {number} dx @param {number} dy in CSS pixels */
  pan(dx, dy) {
    const { frame } = this;
    this.move({ ...frame, x: frame.x - dx / frame.scale, y: frame.y - dy / frame.scale });
  }

  /** @param {Cell | null} cell */
  select(cell) {
    this.cursor = cell;
    const { size } = this;
    if (cell) this.move(reveal(this.frame, cell.row, cell.column, size.width, size.height));
    this.draw();
  }

  /** @param {Uint8ClampedArray<ArrayBuffer>} table */
  setTable(table) {
    this.tiles?.setTable(table);
    this.draw();
  }

  /**
   * The cell at a point of the element.
   * @param {number} px
   * @param {number} py
   * @returns {Cell | null}
   */
  cellAt(px, py) {
    const { frame, matrix } = this;
    const column = Math.floor(frame.x + (px - GUTTER.left) / frame.scale);
    const row = Math.floor(frame.y + (py - GUTTER.top) / frame.scale);
    const inside = matrix && px >= GUTTER.left && py >= GUTTER.top
      && row < matrix.rows && column < matrix.columns;
    return inside ? { row, column } : null;
  }

  /** The weight of a cell as far as its byte says, if its tile is there. @param {Cell} cell */
  roughly(cell) {
    for (const { tile, rows, columns, bytes } of this.known.values()) {
      const row = cell.row - tile.row;
      const column = cell.column - tile.column;
      if (tile.level === 0 && row >= 0 && column >= 0 && row < rows && column < columns) {
        return ((bytes[row * columns + column] ?? 0) / 255) ** 2;
      }
    }
    return null;
  }

  draw() {
    this.scheduled ||= requestAnimationFrame(() => {
      this.scheduled = 0;
      this.drawNow();
    });
  }

  drawNow() {
    const { matrix, frame, size } = this;
    if (!matrix || !this.tiles) return;
    const { rows, columns } = matrix;
    const level = topLevel(rows, columns);
    const fine = tilesOf(frame, rows, columns, size.width, size.height, size.density);
    // Everything at once and coarse lies below what is sharp, so that nothing is ever blank.
    const wanted = fine.some((tile) => tile.level === level)
      ? fine : [{ level, row: 0, column: 0 }, ...fine];
    const placed = [];
    for (const tile of wanted) {
      const known = this.known.get(tileKey(tile));
      if (known) placed.push(placeOf(tile, known, frame, size.density));
      else this.load(tile);
    }
    this.tiles.draw(placed);
    drawOverlay(this);
  }

  /** @param {import("./heat-frame.js").TileName} tile */
  load(tile) {
    const matrix = this.matrix;
    const key = tileKey(tile);
    if (!matrix || this.asked.has(key)) return;
    this.asked.add(key);
    matrix.load(tile).then((found) => {
      if (this.matrix?.key !== matrix.key) return;
      this.tiles?.put(key, found.rows, found.columns, found.bytes);
      this.known.set(key, { tile, ...found });
      if (this.known.size > KEPT) this.forget();
      this.onError(null);
      this.draw();
    }, (error) => {
      this.asked.delete(key);
      if (this.matrix?.key === matrix.key) this.onError(error);
    });
  }

  /** Drops the oldest tile that is not the one of everything. */
  forget() {
    for (const [key, { tile }] of this.known) {
      if (this.matrix && tile.level === topLevel(this.matrix.rows, this.matrix.columns)) continue;
      this.known.delete(key);
      this.asked.delete(key);
      this.tiles?.drop(key);
      return;
    }
  }

  end() {
    cancelAnimationFrame(this.scheduled);
    this.tiles?.end();
    this.matrix = null;
  }
}

/** @param {HeatView} view */
function drawOverlay({ overlay, matrix, frame, size, cursor, over }) {
  const context = overlay.getContext("2d");
  if (!context || !matrix) return;
  const style = getComputedStyle(overlay);
  const ink = style.color;
  const accent = style.getPropertyValue("accent-color");
  context.setTransform(size.density, 0, 0, size.density, 0, 0);
  context.clearRect(0, 0, overlay.width, overlay.height);
  context.font = `${style.fontSize} ${style.fontFamily}`;
  const right = GUTTER.left + Math.min(size.width, (matrix.columns - frame.x) * frame.scale);
  const bottom = GUTTER.top + Math.min(size.height, (matrix.rows - frame.y) * frame.scale);
  const mark = cursor ?? over;
  context.strokeStyle = ink;
  context.globalAlpha = 0.25;
  context.strokeRect(GUTTER.left - 0.5, GUTTER.top - 0.5, right - GUTTER.left + 1,
    bottom - GUTTER.top + 1);
  context.globalAlpha = 1;

  const each = (/** @type {number} */ at, /** @type {number} */ n, /** @type {number} */ room,
    /** @type {(index: number, place: number, chosen: boolean) => void} */ call,
    /** @type {number | undefined} */ chosen) => {
    const step = frame.scale >= 13 ? 1 : nice(34 / frame.scale);
    const first = Math.floor(at / step) * step;
    for (let k = first; k < Math.min(n, at + room / frame.scale); k += step) {
      const place = (k + 0.5 - at) * frame.scale;
      const near = chosen !== undefined && step > 1
        && Math.abs(k - chosen) * frame.scale < 16 && k !== chosen;
      if (place >= 0 && place <= room && !near) call(k, place, k === chosen);
    }
    if (chosen !== undefined && step > 1 && chosen % step !== 0) {
      call(chosen, (chosen + 0.5 - at) * frame.scale, true);
    }
  };
  const label = (/** @type {string} */ text, /** @type {number} */ k, /** @type {boolean} */ one) =>
    frame.scale >= 13 || one ? clip(text) : String(k);
  const paint = (/** @type {boolean} */ chosen) => {
    context.fillStyle = chosen ? accent : ink;
    context.globalAlpha = mark && !chosen ? 0.62 : 1;
  };

  context.textBaseline = "middle";
  context.textAlign = "right";
  each(frame.y, matrix.rows, size.height, (k, place, chosen) => {
    paint(chosen);
    context.fillText(label(matrix.rowLabel(k), k, chosen), GUTTER.left - 8, GUTTER.top + place);
  }, mark?.row);
  context.textAlign = "left";
  each(frame.x, matrix.columns, size.width, (k, place, chosen) => {
    paint(chosen);
    context.save();
    context.translate(GUTTER.left + place, GUTTER.top - 8);
    context.rotate(-Math.PI / 3.4);
    context.fillText(label(matrix.columnLabel(k), k, chosen), 0, 0);
    context.restore();
  }, mark?.column);
  context.globalAlpha = 1;

  for (const [cell, width] of /** @type {const} */ ([[over, 1], [cursor, 2]])) {
    if (!cell) continue;
    const x = GUTTER.left + (cell.column - frame.x) * frame.scale;
    const y = GUTTER.top + (cell.row - frame.y) * frame.scale;
    context.strokeStyle = accent;
    context.globalAlpha = 0.35;
    context.lineWidth = 1;
    const side = Math.max(frame.scale, 3);
    context.strokeRect(GUTTER.left, y, right - GUTTER.left, side);
    context.strokeRect(x, GUTTER.top, side, bottom - GUTTER.top);
    context.globalAlpha = 1;
    context.lineWidth = width;
    context.strokeRect(x, y, side, side);
  }
}

/** A round step that is at least this large. @param {number} least */
function nice(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return Math.max(1, [1, 2, 5, 10].map((k) => k * power).find((k) => k >= least) ?? least);
}

/** @param {string} text */
const clip = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);
