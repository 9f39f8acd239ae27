// The views, in the order of the navigation, and which models each is for.
import { strings } from "../strings.js";

/** @typedef {import("../api.js").Model} Model */

/**
 * @typedef {object} View
 * @property {string} name its place in the address
 * @property {string} group
 * @property {boolean} sentence whether it looks at the sentence of the selection
 * @property {(model: Model) => boolean} fits
 * @property {() => Promise<Record<string, any>>} load its module, which exports `View`
 */

const any = () => true;
const writes = (/** @type {Model} */ one) => one.kind !== "encoder" && one.kind !== "unknown";
const attends = (/** @type {Model} */ one) => one.attention;
const heads = (/** @type {Model} */ one) => one.heads > 0 && one.kind !== "recurrent";

/** @type {View[]} */
export const views = [
  {
    name: "tour",
    group: "start",
    sentence: false,
    fits: any,
    load: () => import("../views/tour.js"),
  },
  {
    name: "sentence",
    group: "inside",
    sentence: true,
    fits: any,
    load: () => import("../views/sentence.js"),
  },
  {
    name: "attention",
    group: "inside",
    sentence: true,
    fits: attends,
    load: () => import("../views/attention.js"),
  },
  {
    name: "why",
    group: "inside",
    sentence: true,
    fits: any,
    load: () => import("../views/why.js"),
  },
  {
    name: "generation",
    group: "inside",
    sentence: true,
    fits: writes,
    load: () => import("../views/generation.js"),
  },
  {
    name: "ablation",
    group: "ask",
    sentence: true,
    fits: heads,
    load: () => import("../views/ablation.js"),
  },
  {
    name: "lens",
    group: "ask",
    sentence: true,
    fits: (one) => writes(one) && heads(one),
    load: () => import("../views/lens.js"),
  },
  {
    name: "beams",
    group: "ask",
    sentence: true,
    fits: writes,
    load: () => import("../views/beams.js"),
  },
  {
    name: "masked",
    group: "ask",
    sentence: true,
    fits: (one) => one.task === "fill-mask",
    load: () => import("../views/masked.js"),
  },
  {
    name: "training",
    group: "make",
    sentence: false,
    fits: any,
    load: () => import("../views/training.js"),
  },
  {
    name: "three",
    group: "make",
    sentence: false,
    fits: any,
    load: () => import("../views/three.js"),
  },
  {
    name: "examples",
    group: "make",
    sentence: false,
    fits: any,
    load: () => import("../views/examples.js"),
  },
  {
    name: "architecture",
    group: "make",
    sentence: false,
    fits: any,
    load: () => import("../views/architecture.js"),
  },
  {
    name: "experiments",
    group: "make",
    sentence: false,
    fits: any,
    load: () => import("../views/experiments.js"),
  },
];

/** The view with this name, or the first to show. @param {string} name */
export const viewOf = (name) =>
  views.find((one) => one.name === name) ?? /** @type {View} */ (views[1]);

/** Its title and question. @param {string} name */
export const titleOf = (name) =>
  strings.views[/** @type {keyof typeof strings.views} */ (name)] ?? strings.views.sentence;
