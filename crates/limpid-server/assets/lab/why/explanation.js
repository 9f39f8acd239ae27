// Where one number comes from, as the engine says, or for a probability as arithmetic here.
import { floats, post, url } from "../state/api.js";
import { once, useResource } from "../state/resource.js";
import { rowTokens, side } from "../state/lab.js";
import { spell } from "../state/numbers.js";
import { word } from "../show/token.js";
import { strings } from "../strings.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Explained} Explained
 * @typedef {import("../state/numbers.js").Place} Place
 * @typedef {import("../state/numbers.js").Probability} Probability
 */

/**
 * A probability: the softmax of a row of logits, each of which the engine explains.
 * @typedef {object} Softmax
 * @property {"probability"} kind
 * @property {number} value
 * @property {number} logit
 * @property {number} largest the largest logit of the row
 * @property {number} total Σ exp(z − largest)
 * @property {{ id: number, logit: number, share: number }[]} top
 * @property {number} others how many are not listed
 * @property {number} rest their share
 */

/**
 * The row of the logits that a position has: with a large vocabulary only the last positions have
 * one.
 * @param {Pass} pass
 * @param {number} position
 */
export function logitRow(pass, position) {
  const at = pass.logits;
  const info = pass.tensors.find((one) => one.step === at?.step && one.output === at.output);
  const read = (pass.target ?? pass.source).length;
  return position - (read - Math.min(read, info?.rows ?? read));
}

/**
 * The logits at a position.
 * @param {Pass} pass
 * @param {number} position
 */
export function loadLogits(pass, position) {
  const row = logitRow(pass, position);
  const at = pass.logits;
  const info = pass.tensors.find((one) => one.step === at?.step && one.output === at.output);
  if (!at || !info || row < 0) return Promise.reject(new Error(strings.why.noLogits));
  const query = new URLSearchParams({
    step: String(at.step),
    output: String(at.output),
    row: String(row),
    rows: "1",
    column: "0",
    columns: String(info.columns),
  });
  const path = `${url`/api/passes/${pass.id}/tensor`}?${query}`;
  return once(path, (signal) => floats(path, signal));
}

/**
 * Softmax in double precision.
 * @param {ArrayLike<number>} logits
 * @param {number} id
 * @param {number} count how many terms to list
 * @returns {Softmax}
 */
export function softmaxOf(logits, id, count) {
  let largest = -Infinity;
  for (let k = 0; k < logits.length; k += 1) largest = Math.max(largest, logits[k] ?? -Infinity);
  let total = 0;
  for (let k = 0; k < logits.length; k += 1) total += Math.exp((logits[k] ?? 0) - largest);
  const order = Array.from({ length: logits.length }, (_, k) => k)
    .sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0))
    .slice(0, count);
  const top = order.map((one) => ({
    id: one,
    logit: logits[one] ?? 0,
    share: Math.exp((logits[one] ?? 0) - largest) / total,
  }));
  const logit = logits[id] ?? NaN;
  return {
    kind: "probability",
    value: Math.exp(logit - largest) / total,
    logit,
    largest,
    total,
    top,
    others: logits.length - top.length,
    rest: 1 - top.reduce((sum, one) => sum + one.share, 0),
  };
}

/**
 * Explains a number for a component.
 * @param {Pass | undefined} pass
 * @param {Place | undefined} place
 * @returns {import("../state/resource.js").Resource<Explained | Softmax>}
 */
export function useExplanation(pass, place) {
  const key = pass && place ? `why ${pass.id} ${spell(place)}` : null;
  return useResource(key, async (signal) => {
    if (!pass || !place) throw new Error(strings.why.none);
    if (place.kind === "probability") {
      return softmaxOf(await loadLogits(pass, place.row), place.id, 8);
    }
    return post("/api/explain", { pass: pass.id, element: place }, signal);
  });
}

/**
 * What a number is, in words.
 * @param {Pass} pass
 * @param {Place} place
 */
export function nameOf(pass, place) {
  switch (place.kind) {
    case "probability": {
      const read = pass.target ?? pass.source;
      return strings.why.probability(word(read[place.row]));
    }
    case "weight":
    case "score": {
      const found = pass.attentions.find((one) => one.step === place.step);
      if (!found) return place.kind;
      const query = rowTokens(pass, found)[place.query];
      const key = side(pass, found.keys)[place.key];
      return strings.why[place.kind](
        strings.attention.place(found.stack, found.kind),
        found.layer,
        place.head,
        word(query),
        word(key),
      );
    }
    case "param":
      return strings.why.param(place.name, place.row, place.column);
    case "recurrent":
      return strings.why.recurrent(place.part, place.row, place.column);
    default: {
      const info = pass.tensors.find(
        (one) => one.step === place.step && one.output === place.output,
      );
      if (!info) return strings.why.unnamed;
      const tokens =
        info.of === "target" ? pass.target : info.of === "source" ? pass.source : null;
      return strings.why.element(
        info.name,
        tokens ? word(tokens[place.row]) : "",
        place.row,
        place.column,
      );
    }
  }
}
