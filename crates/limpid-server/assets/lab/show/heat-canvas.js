// Draws tiles of a heat map on a plain canvas, where there is no WebGL 2.

/** @typedef {import("./heat-webgl.js").Placed} Placed */
/**
 * @typedef {{ rows: number, columns: number, bytes: Uint8Array,
 *   canvas: HTMLCanvasElement }} Tile
 */

/**
 * Paints bytes in the colours of a table.
 * @param {HTMLCanvasElement} canvas
 * @param {number} rows
 * @param {number} columns
 * @param {Uint8Array} bytes
 * @param {Uint8ClampedArray<ArrayBuffer>} table
 */
export function paint(canvas, rows, columns, bytes, table) {
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  if (!context || rows === 0 || columns === 0) return;
  const image = context.createImageData(columns, rows);
  const colours = new Uint32Array(table.buffer, table.byteOffset, 256);
  const pixels = new Uint32Array(image.data.buffer);
  for (let k = 0; k < pixels.length; k += 1) pixels[k] = colours[bytes[k] ?? 0] ?? 0;
  context.putImageData(image, 0, 0);
}

export class CanvasTiles {
  /** @param {HTMLCanvasElement} canvas */
  static on(canvas) {
    const context = canvas.getContext("2d", { alpha: false });
    return context ? new CanvasTiles(canvas, context) : null;
  }

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {CanvasRenderingContext2D} context
   */
  constructor(canvas, context) {
    this.canvas = canvas;
    this.context = context;
    /** @type {Map<string, Tile>} */
    this.tiles = new Map();
    this.table = new Uint8ClampedArray(1024);
  }

  /** @param {Uint8ClampedArray<ArrayBuffer>} table colours of the 256 bytes */
  setTable(table) {
    this.table = table;
    for (const { canvas, rows, columns, bytes } of this.tiles.values()) {
      paint(canvas, rows, columns, bytes, table);
    }
  }

  /** @param {string} key @param {number} rows @param {number} columns @param {Uint8Array} bytes */
  put(key, rows, columns, bytes) {
    const canvas = document.createElement("canvas");
    paint(canvas, rows, columns, bytes, this.table);
    this.tiles.set(key, { rows, columns, bytes, canvas });
  }

  /** @param {string} key */
  drop(key) {
    this.tiles.delete(key);
  }

  /** @param {string} key */
  has(key) {
    return this.tiles.has(key);
  }

  /** @param {Placed[]} placed */
  draw(placed) {
    const { context, canvas, table } = this;
    context.imageSmoothingEnabled = false;
    context.fillStyle = `rgb(${table[0]} ${table[1]} ${table[2]})`;
    context.fillRect(0, 0, canvas.width, canvas.height);
    for (const { key, x, y, width, height } of placed) {
      const tile = this.tiles.get(key);
      if (tile) context.drawImage(tile.canvas, x, y, width, height);
    }
  }

  end() {
    this.tiles.clear();
  }
}
