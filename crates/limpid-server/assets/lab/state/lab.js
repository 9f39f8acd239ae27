// The models and runs that the server knows, and the forward pass that all views look into.
import { computed, signal } from "../ui.js";
import { get, made, url } from "./api.js";
import { on } from "./events.js";
import { once, useResource } from "./resource.js";
import { select, selection } from "./selection.js";

/**
 * @typedef {import("../api.js").Lab} Lab
 * @typedef {import("../api.js").Model} Model
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Edit} Edit
 */

/** @type {import("../vendor/signals.js").Signal<Lab | null>} */
export const lab = signal(null);
/** @type {import("../vendor/signals.js").Signal<Error | null>} */
export const labError = signal(null);

/** The model that is selected; without a selection the first that can be used. */
export const model = computed(() => {
  const models = lab.value?.models ?? [];
  const wanted = selection.value.model;
  if (wanted !== "") return models.find((one) => one.id === wanted) ?? null;
  return models.find((one) => one.state === "ready") ?? models[0] ?? null;
});

/** The text that is read: what was typed, or the model's example. */
export const text = computed(() => selection.value.text || model.value?.example || "");

/** Asks for the models and follows their changes. */
export async function followLab() {
  const take = (/** @type {Lab} */ found) => {
    lab.value = found;
    labError.value = null;
  };
  on("hello", (data) => take(data.lab));
  on("model", (/** @type {Model} */ changed) => {
    const known = lab.value;
    if (!known) return;
    const models = known.models.some((one) => one.id === changed.id)
      ? known.models.map((one) => (one.id === changed.id ? changed : one))
      : [...known.models, changed];
    lab.value = { ...known, models };
  });
  on("run", (changed) => {
    const known = lab.value;
    if (!known) return;
    const runs = [changed, ...known.runs.filter((one) => one.id !== changed.id)];
    lab.value = { ...known, runs };
  });
  on("demo", (demo) => {
    if (lab.value) lab.value = { ...lab.value, demo };
  });
  const ask = async () => {
    try {
      take(await get("/api/lab"));
    } catch (error) {
      labError.value = /** @type {Error} */ (error);
    }
  };
  on("lagged", ask);
  await ask();
}

/** What a pass is asked for. */
export const passRequest = computed(() => {
  const one = model.value;
  if (!one || one.state !== "ready" || text.value === "") return null;
  return { model: one.id, text: text.value, ...targetOf(selection.value.target) };
});

/**
 * What the decoder is given: nothing, a text, or after `#` token ids.
 * @param {string} target
 */
export function targetOf(target) {
  if (target === "") return {};
  const ids = /^#(\d+(?:,\d+)*)$/.exec(target)?.[1];
  return ids ? { target_ids: ids.split(",").map(Number) } : { target };
}

/** @param {object} request @returns {Promise<Pass>} */
export function loadPass(request) {
  const key = `pass ${JSON.stringify(request)}`;
  return once(key, (signal) => made("/api/passes", request, signal));
}

/**
 * The forward pass of the selection, for a component.
 * @returns {import("./resource.js").Resource<Pass>}
 */
export function usePass() {
  const request = passRequest.value;
  const key = request && `pass ${JSON.stringify(request)}`;
  return useResource(key, (signal) => made("/api/passes", request, signal));
}

/**
 * Attention heads of a pass, with what they do.
 * @param {string} pass
 * @returns {Promise<{ heads: import("../api.js").HeadRole[] }>}
 */
export const loadRoles = (pass) =>
  once(`roles ${pass}`, (signal) => get(url`/api/passes/${pass}/roles`, signal));

/** The tokens that an attention looks from, or at. @param {Pass} pass @param {string} side */
export const side = (pass, side) => (side === "target" ? (pass.target ?? []) : pass.source);

/**
 * What an attention's rows are called: in cross-attention the word that is being predicted, since
 * it is that word whose source is looked for; elsewhere the word that is read.
 * @param {Pass} pass
 * @param {import("../api.js").Attention} attention
 */
export const rowTokens = (pass, attention) =>
  attention.kind === "cross" && pass.output ? pass.output : side(pass, attention.queries);

/** Selects another model; what does not carry over is reset. @param {string} id */
export function chooseModel(id) {
  select({
    model: id,
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
  });
}

/** Another text: positions of the one before mean nothing in it. @param {string} text */
export function chooseText(text) {
  select({ text, target: "", side: "", token: -1, key: -1, step: 0, why: "", more: "" });
}
