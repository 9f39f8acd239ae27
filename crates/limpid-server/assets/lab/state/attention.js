// Attention of a pass: which there is, its weights, and its tiles.
import { bytes, floats, url } from "./api.js";
import { once } from "./resource.js";
import { selection } from "./selection.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Attention} Attention
 */

/** "encoder", "decoder", "cross" or "self". @param {Attention} one */
export const placeOf = (one) =>
  one.kind === "cross" ? "cross" : one.stack === "layers" ? "self" : one.stack;

/** The places that a model attends in, in the order of its data. @param {Pass} pass */
export const placesOf = (pass) => [...new Set(pass.attentions.map(placeOf))];

/**
 * The attention that is selected; where the selection says nothing, the cross-attention of a
 * translator or the self-attention of the others.
 * @param {Pass} pass
 * @returns {Attention | undefined}
 */
export function selected(pass) {
  const places = placesOf(pass);
  const { place, layer } = selection.value;
  const wanted = places.includes(place) ? place : places.includes("cross") ? "cross" : places[0];
  const there = pass.attentions.filter((one) => placeOf(one) === wanted);
  return there.find((one) => one.layer === layer) ?? there[0];
}

/** The name of a head in a request. @param {number} head */
export const headName = (head) => (head < 0 ? "mean" : String(head));

/**
 * Weights of rows, exactly.
 * @param {Pass} pass
 * @param {Attention} attention
 * @param {number} head -1 for the mean over the heads
 * @param {number} row
 * @param {number} rows
 * @returns {Promise<Float32Array>}
 */
export function loadWeights(pass, attention, head, row, rows) {
  const query = new URLSearchParams({
    attention: String(attention.index), head: headName(head), row: String(row),
    rows: String(rows), column: "0", columns: String(attention.s),
  });
  const path = `${url`/api/passes/${pass.id}/weights`}?${query}`;
  return once(path, (signal) => floats(path, signal));
}

/** The numbers of weights that one request may ask for. */
export const MOST_WEIGHTS = 65536;

/**
 * A tile of √w as bytes.
 * @param {Pass} pass
 * @param {Attention} attention
 * @param {number} head
 * @param {import("../show/heat-frame.js").TileName} tile
 */
export function loadTile(pass, attention, head, tile) {
  const query = new URLSearchParams({
    attention: String(attention.index), head: headName(head), level: String(tile.level),
    row: String(tile.row), column: String(tile.column),
  });
  const path = `${url`/api/passes/${pass.id}/tile`}?${query}`;
  return once(path, (signal) => bytes(path, signal));
}

/** A stretch of a tensor. @param {Pass} pass @param {{ step: number, output: number }} at
 *  @param {number} row @param {number} column @param {number} columns */
export function loadRow(pass, at, row, column, columns) {
  const query = new URLSearchParams({
    step: String(at.step), output: String(at.output), row: String(row), rows: "1",
    column: String(column), columns: String(columns),
  });
  const path = `${url`/api/passes/${pass.id}/tensor`}?${query}`;
  return once(path, (signal) => floats(path, signal));
}
