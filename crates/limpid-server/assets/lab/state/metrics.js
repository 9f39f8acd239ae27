// Metrics of runs, read once and then as the server tells of new lines.
import { signal } from "../ui.js";
import { get, url } from "./api.js";
import { on } from "./events.js";

/** @typedef {import("../api.js").Metric} Metric */
/** @typedef {{ next: number, lines: Metric[], reading: boolean }} Known */

/** @type {Map<string, Known>} */
const runs = new Map();
/** Counts changes, so that a component that reads it draws again. */
export const changed = signal(0);

on("metrics", ({ run, next, lines }) => {
  const known = runs.get(run);
  if (!known || known.reading || next <= known.next) return;
  known.lines = [...known.lines, ...lines];
  known.next = next;
  changed.value += 1;
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
 * A curve of one name in the metrics.
 * @param {Metric[]} lines
 * @param {string} name
 */
export function curveOf(lines, name) {
  const x = [];
  const y = [];
  for (const line of lines) {
    const value = line[name];
    if (typeof line["step"] === "number" && typeof value === "number") {
      if (x.length > 0 && line["step"] <= (x.at(-1) ?? 0)) continue;
      x.push(line["step"]);
      y.push(value);
    }
  }
  return { x, y };
}
