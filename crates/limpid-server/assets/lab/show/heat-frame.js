// Which part of a matrix is in sight, which tiles that takes, and where they stand.

/** Weights of a side of a tile. */
export const TILE = 256;
/** Room for the labels, in CSS pixels. */
export const GUTTER = { left: 92, top: 76 };

/**
 * @typedef {object} Frame
 * @property {number} x column at the left edge, with a fraction
 * @property {number} y row at the top edge
 * @property {number} scale CSS pixels of a cell
 */

/** @typedef {{ level: number, row: number, column: number }} TileName */

/** @param {TileName} tile */
export const tileKey = (tile) => `${tile.level}/${tile.row}/${tile.column}`;

/** The level at which the whole matrix is one tile. @param {number} rows @param {number} columns */
export const topLevel = (rows, columns) =>
  Math.max(0, Math.ceil(Math.log2(Math.max(rows, columns, 1) / TILE)));

/**
 * The frame that shows everything.
 * @param {number} rows
 * @param {number} columns
 * @param {number} width of the map in CSS pixels
 * @param {number} height
 * @returns {Frame}
 */
export function whole(rows, columns, width, height) {
  return { x: 0, y: 0, scale: Math.min(width / columns, height / rows, 52) };
}

/**
 * Keeps a frame on the matrix.
 * @param {Frame} frame
 * @param {number} rows
 * @param {number} columns
 * @param {number} width
 * @param {number} height
 * @returns {Frame}
 */
export function clamp(frame, rows, columns, width, height) {
  const least = whole(rows, columns, width, height).scale;
  const scale = Math.min(64, Math.max(least, frame.scale));
  const within = (
    /** @type {number} */ at,
    /** @type {number} */ n,
    /** @type {number} */ room,
  ) => Math.max(0, Math.min(at, n - room / scale));
  return { scale, x: within(frame.x, columns, width), y: within(frame.y, rows, height) };
}

/**
 * Zooms around a point of the map.
 * @param {Frame} frame
 * @param {number} factor
 * @param {number} px
 * @param {number} py
 * @returns {Frame}
 */
export function zoom(frame, factor, px, py) {
  const scale = frame.scale * factor;
  return {
    scale,
    x: frame.x + px / frame.scale - px / scale,
    y: frame.y + py / frame.scale - py / scale,
  };
}

/**
 * Moves a frame so that a cell is in sight.
 * @param {Frame} frame
 * @param {number} row
 * @param {number} column
 * @param {number} width
 * @param {number} height
 * @returns {Frame}
 */
export function reveal(frame, row, column, width, height) {
  const near = (
    /** @type {number} */ at,
    /** @type {number} */ cell,
    /** @type {number} */ room,
  ) => {
    if (cell < at) return cell;
    return cell + 1 > at + room ? cell + 1 - room : at;
  };
  return {
    ...frame,
    x: near(frame.x, column, width / frame.scale),
    y: near(frame.y, row, height / frame.scale),
  };
}

/**
 * The tiles of a level that are in sight. A cell of the level is at least one pixel wide.
 * @param {Frame} frame
 * @param {number} rows
 * @param {number} columns
 * @param {number} width
 * @param {number} height
 * @param {number} density device pixels of a CSS pixel
 * @returns {TileName[]}
 */
export function tilesOf(frame, rows, columns, width, height, density) {
  const wanted = Math.ceil(Math.log2(1 / (frame.scale * density)) - 1e-6);
  const level = Math.max(0, Math.min(topLevel(rows, columns), wanted));
  const unit = TILE * 2 ** level;
  const span = (
    /** @type {number} */ at,
    /** @type {number} */ room,
    /** @type {number} */ n,
  ) => ({
    first: Math.floor(at / unit),
    last: Math.floor((Math.min(n, at + room / frame.scale) - 1e-6) / unit),
  });
  const down = span(frame.y, height, rows);
  const right = span(frame.x, width, columns);
  const found = [];
  for (let row = down.first; row <= down.last; row += 1) {
    for (let column = right.first; column <= right.last; column += 1) {
      found.push({ level, row: row * TILE, column: column * TILE });
    }
  }
  return found;
}

/**
 * Where a tile stands, in device pixels.
 * @param {TileName} tile
 * @param {{ rows: number, columns: number }} size of the tile
 * @param {Frame} frame
 * @param {number} density
 */
export function placeOf(tile, size, frame, density) {
  const unit = 2 ** tile.level;
  const pixels = frame.scale * density;
  return {
    key: tileKey(tile),
    x: (tile.column * unit - frame.x) * pixels,
    y: (tile.row * unit - frame.y) * pixels,
    width: size.columns * unit * pixels,
    height: size.rows * unit * pixels,
  };
}
