// Temperature, top-k and top-p on logits that are already here, so that a slider is instant. The
// arithmetic is that of the engine: temperature first, then top-k, then top-p.

/** @typedef {{ temperature: number, topK: number, topP: number }} Settings */
/** @typedef {{ id: number, probability: number, processed: number, filtered: number }} Candidate */

/**
 * The distribution of a step.
 * @param {Float32Array} logits
 * @param {Settings} settings
 * @param {number} count how many to list
 * @returns {{ listed: Candidate[], kept: number, entropy: number, order: Uint32Array,
 *   filtered: Float64Array, model: Float64Array }} `model` is the distribution before any filter
 */
export function distribution(logits, settings, count) {
  const { order, probability } = fixed(logits);
  const greedy = settings.temperature === 0;
  const processed = greedy ? probability : softmax(logits, settings.temperature);
  let kept = greedy ? 1 : order.length;
  if (!greedy && settings.topK > 0) kept = Math.min(kept, settings.topK);
  if (!greedy && settings.topP < 1) {
    let mass = 0;
    for (let k = 0; k < kept; k += 1) mass += at(processed, at(order, k));
    let sum = 0;
    for (let k = 0; k < kept; k += 1) {
      sum += at(processed, at(order, k)) / mass;
      if (sum >= settings.topP) kept = k + 1;
    }
  }
  let mass = 0;
  for (let k = 0; k < kept; k += 1) mass += at(processed, at(order, k));
  const filtered = new Float64Array(logits.length);
  for (let k = 0; k < kept; k += 1) {
    filtered[at(order, k)] = at(processed, at(order, k)) / mass;
  }
  let entropy = 0;
  for (const value of filtered) if (value > 0) entropy -= value * Math.log(value);
  const listed = [...order.slice(0, count)].map((id) => ({
    id, probability: at(probability, id), processed: at(processed, id), filtered: at(filtered, id),
  }));
  return { listed, kept, entropy, order, filtered, model: probability };
}

/** @type {WeakMap<Float32Array, { order: Uint32Array, probability: Float64Array }>} */
const known = new WeakMap();

/**
 * What no slider changes: the order of the tokens, and the model's own distribution. Sorting a
 * large vocabulary takes longer than a frame.
 * @param {Float32Array} logits
 */
function fixed(logits) {
  const found = known.get(logits);
  if (found) return found;
  const order = new Uint32Array(logits.length);
  for (let k = 0; k < order.length; k += 1) order[k] = k;
  order.sort((a, b) => at(logits, b) - at(logits, a) || a - b);
  const made = { order, probability: softmax(logits, 1) };
  known.set(logits, made);
  return made;
}

/** @param {ArrayLike<number>} values @param {number} index */
const at = (values, index) => values[index] ?? 0;

/** @param {Float32Array} logits @param {number} temperature */
function softmax(logits, temperature) {
  let largest = -Infinity;
  for (const value of logits) largest = Math.max(largest, value);
  const out = new Float64Array(logits.length);
  let sum = 0;
  for (let k = 0; k < logits.length; k += 1) {
    const value = Math.exp((at(logits, k) - largest) / temperature);
    out[k] = value;
    sum += value;
  }
  for (let k = 0; k < out.length; k += 1) out[k] = at(out, k) / sum;
  return out;
}
