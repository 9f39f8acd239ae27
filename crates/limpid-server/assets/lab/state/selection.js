// The one selection that all views share. It is the address: whatever is selected can be sent to
// somebody else, and going back in the browser is undo.
import { computed, signal } from "../ui.js";

/**
 * @typedef {object} Selection
 * @property {string} view which view is shown
 * @property {string} model id of the model
 * @property {string} text what the model reads
 * @property {string} target what the decoder is given; empty for the model's own words
 * @property {string} place which attention: "encoder", "decoder", "cross" or "self"
 * @property {string} side which sequence the token is of: "source" or "target"
 * @property {number} layer
 * @property {number} head -1 for all heads
 * @property {number} token position of the selected token, -1 for none
 * @property {number} key position that it looks at, -1 for none
 * @property {number} step step of the generation
 * @property {string} why the opened numbers, outermost first
 * @property {string} more what only one view needs, as `name:value` pairs
 */

/** @type {Selection} */
export const nothing = {
  view: "",
  model: "",
  text: "",
  target: "",
  place: "",
  side: "",
  layer: 0,
  head: -1,
  token: -1,
  key: -1,
  step: 0,
  why: "",
  more: "",
};

/** The names of the fields in the address, short so that addresses stay readable. */
const NAMES = /** @type {const} */ ({
  model: "m",
  text: "t",
  target: "y",
  place: "a",
  side: "d",
  layer: "l",
  head: "h",
  token: "i",
  key: "j",
  step: "s",
  why: "why",
  more: "x",
});

/**
 * @param {string} hash
 * @returns {Selection}
 */
export function decode(hash) {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const values = new URLSearchParams(query);
  /** @type {Record<string, string | number>} */
  const found = { ...nothing, view: /^[a-z-]*$/.test(path) ? path : "" };
  for (const [field, name] of Object.entries(NAMES)) {
    const value = values.get(name);
    if (value === null) continue;
    if (typeof found[field] === "number") {
      const number = Number(value);
      if (Number.isSafeInteger(number) && number >= -1) found[field] = number;
    } else {
      found[field] = value;
    }
  }
  return /** @type {Selection} */ (/** @type {unknown} */ (found));
}

/**
 * @param {Selection} state
 * @returns {string} the fragment of the address
 */
export function encode(state) {
  const values = new URLSearchParams();
  for (const [field, name] of Object.entries(NAMES)) {
    const key = /** @type {keyof Selection} */ (field);
    if (state[key] !== nothing[key]) values.set(name, String(state[key]));
  }
  const query = values.toString();
  return `#/${state.view}${query ? `?${query}` : ""}`;
}

export const selection = signal(nothing);

/** What the pointer is over; never in the address. */
export const hovered = signal(/** @type {{ token: number, side: string } | null} */ (null));

/** How far one can go back and forward. */
const place = signal(0);
const farthest = signal(0);
export const canUndo = computed(() => place.value > 0);
export const canRedo = computed(() => place.value < farthest.value);

let pushedAt = 0;

/**
 * Changes the selection. Changes that follow each other at once (arrow keys held down, a slider
 * that is dragged) are one step of undo.
 * @param {Partial<Selection>} change
 * @param {"step" | "glide" | "replace"} [how]
 */
export function select(change, how = "step") {
  const next = { ...selection.value, ...change };
  const hash = encode(next);
  if (hash === encode(selection.value)) return;
  const now = performance.now();
  const merge = how === "replace" || (how === "glide" && now - pushedAt < 600);
  if (how === "glide") pushedAt = now;
  if (merge) {
    history.replaceState({ place: place.value }, "", hash);
  } else {
    place.value += 1;
    farthest.value = place.value;
    history.pushState({ place: place.value }, "", hash);
  }
  selection.value = next;
}

/** The address of a selection, for links. @param {Partial<Selection>} change */
export const address = (change) => encode({ ...selection.value, ...change });

export const undo = () => history.back();
export const redo = () => history.forward();

/** Reads the selection from the address, now and whenever it changes. */
export function followAddress() {
  const read = () => {
    const where = history.state?.place;
    if (typeof where === "number") {
      place.value = where;
      farthest.value = Math.max(farthest.value, where);
    } else if (selection.value.view !== "") {
      // A link was followed, or the address was typed.
      place.value += 1;
      farthest.value = place.value;
      history.replaceState({ place: place.value }, "");
    }
    selection.value = decode(location.hash);
  };
  read();
  history.replaceState({ place: place.value }, "");
  addEventListener("popstate", read);
}

/**
 * A value that only one view needs.
 * @param {string} name
 * @param {string} [otherwise]
 */
export function extra(name, otherwise = "") {
  return new URLSearchParams(selection.value.more).get(name) ?? otherwise;
}

/**
 * @param {Record<string, string>} change values; an empty one is taken out
 * @param {"step" | "glide" | "replace"} [how]
 */
export function setExtra(change, how = "step") {
  const values = new URLSearchParams(selection.value.more);
  for (const [name, value] of Object.entries(change)) {
    if (value === "") values.delete(name);
    else values.set(name, value);
  }
  select({ more: values.toString() }, how);
}
