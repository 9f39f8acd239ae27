// Metrics of runs, read once and then as the server tells of new lines.
import { signal } from "../ui.js";
import { get, url } from "./api.js";
import { on } from "./events.js";

/** @typedef {import("../learn.js").Metric} Metric */
/** @typedef {{ next: number, lines: Metric[], reading: boolean }} Known */

/** @type {Map<string, Known>} */
const runs = new Map();
/** Counts changes, so that a component that reads it draws again. */
export const changed = signal(0);

// An event says that there is more; what is asked for begins where the last answer ended, so that
// nothing is there twice and nothing is missing.
on("metrics", ({ run }) => {
  if (runs.has(run)) read(run).catch(() => {});
});

// Events were lost: everything is asked for again.
on("lagged", () => {
  for (const run of runs.keys()) read(run).catch(() => {});
});

/** @param {string} run */
async function read(run) {
  const known = runs.get(run) ?? { next: 0, lines: [], reading: false };
  if (known.reading) return;
  known.reading = true;
  runs.set(run, known);
  try {
    for (;;) {
      /** @type {{ next: number, lines: Metric[] }} */
      const more = await get(`${url`/api/runs/${run}/metrics`}?from=${known.next}`);
      if (more.lines.length === 0) break;
      known.lines = [...known.lines, ...more.lines];
      known.next = more.next;
      changed.value += 1;
    }
  } finally {
    known.reading = false;
  }
}

/** The lines of a run that are there; asks for the others. @param {string} run */
export function metricsOf(run) {
  const known = runs.get(run);
  if (!known) read(run).catch(() => {});
  // Reading the count subscribes the component.
  return changed.value >= 0 ? (runs.get(run)?.lines ?? []) : [];
}

/** Asks again: after a run was resumed. @param {string} run */
export const refresh = (run) => read(run).catch(() => {});

/**
 * A curve: of the lines of a kind, one name.
 * @param {Metric[]} lines
 * @param {string} kind "train" or "validation"
 * @param {string} name
 */
export function curveOf(lines, kind, name) {
  /** @type {number[]} */
  const x = [];
  /** @type {number[]} */
  const y = [];
  for (const line of lines) {
    const { step, [name]: value } = line;
    if (line["kind"] !== kind || typeof step !== "number" || typeof value !== "number") continue;
    // A run that was resumed from an earlier checkpoint writes some steps again.
    while (x.length > 0 && step <= (x.at(-1) ?? 0)) {
      x.pop();
      y.pop();
    }
    x.push(step);
    y.push(value);
  }
  return { x, y };
}
