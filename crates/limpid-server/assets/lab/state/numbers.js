// The numbers that are opened: a path from the first that was clicked down to a weight or a token.
import { computed } from "../ui.js";
import { select, selection } from "./selection.js";

/**
 * @typedef {import("../api.js").Element} Element
 * A probability is the page's own arithmetic on a row of logits; all others are the engine's.
 * @typedef {{ kind: "probability", row: number, id: number }} Probability
 * @typedef {Element | Probability} Place
 */

/** @param {Place} place @returns {string} */
export function spell(place) {
  switch (place.kind) {
    case "output":
      return ["o", place.step, place.output, place.row, place.column].join("_");
    case "weight":
    case "score":
      return [place.kind[0], place.step, place.head, place.query, place.key].join("_");
    case "recurrent":
      return ["g", place.step, place.row, place.column, place.key ?? "", place.part].join("_");
    case "param":
      return ["p", place.row, place.column, place.name].join("_");
    default:
      return ["y", place.row, place.id].join("_");
  }
}

/** @param {string} text @returns {Place | null} */
export function parse(text) {
  const [kind, ...rest] = text.split("_");
  if (kind === "p") {
    const [row, column] = rest.splice(0, 2).map(Number);
    return whole(row, column)
      ? { kind: "param", name: rest.join("_"), row: row ?? 0, column: column ?? 0 }
      : null;
  }
  if (kind === "g") {
    const [step, row, column] = rest.splice(0, 3).map(Number);
    const [key = "", ...part] = rest;
    if (!whole(step, row, column)) return null;
    return {
      kind: "recurrent", step: step ?? 0, row: row ?? 0, column: column ?? 0, part: part.join("_"),
      ...(key === "" ? {} : { key: Number(key) }),
    };
  }
  const [a = -1, b = -1, c = -1, d = -1] = rest.map(Number);
  if (kind === "y") return whole(a, b) ? { kind: "probability", row: a, id: b } : null;
  if (!whole(a, b, c, d)) return null;
  switch (kind) {
    case "o":
      return { kind: "output", step: a, output: b, row: c, column: d };
    case "w":
      return { kind: "weight", step: a, head: b, query: c, key: d };
    case "s":
      return { kind: "score", step: a, head: b, query: c, key: d };
    default:
      return null;
  }
}

/** @param {...(number | undefined)} numbers */
const whole = (...numbers) => numbers.every((n) => Number.isSafeInteger(n) && Number(n) >= 0);

/** The opened numbers, the innermost last. */
export const opened = computed(() =>
  selection.value.why
    .split("~")
    .filter(Boolean)
    .map(parse)
    .filter((place) => place !== null),
);

/** Opens a number from a view. @param {Place} place */
export const openNumber = (place) => select({ why: spell(place) });

/** Opens an operand of the innermost number. @param {Place} place */
export const openInner = (place) =>
  select({ why: [...opened.value.map(spell), spell(place)].join("~") });

/** Goes back to one of the opened numbers. @param {number} depth */
export const backTo = (depth) =>
  select({
    why: opened.value
      .slice(0, depth + 1)
      .map(spell)
      .join("~"),
  });

export const closeNumbers = () => select({ why: "" });
