// What happens on the server while the page is open: models that load, runs that learn.
import { signal } from "../ui.js";
import { lines } from "./api.js";

/** Whether the stream of events is there. */
export const connected = signal(true);

/** @type {Map<string, Set<(data: any) => void>>} */
const listeners = new Map();

/**
 * Calls back for each event with this name; the result ends it.
 * @param {string} name
 * @param {(data: any) => void} call
 */
export function on(name, call) {
  const found = listeners.get(name) ?? new Set();
  listeners.set(name, found.add(call));
  return () => void found.delete(call);
}

/** @param {string} name @param {string} data */
function dispatch(name, data) {
  /** @type {unknown} */
  let value;
  try {
    value = JSON.parse(data);
  } catch {
    return;
  }
  for (const call of listeners.get(name) ?? []) call(value);
}

const sleep = (/** @type {number} */ ms) => new Promise((done) => setTimeout(done, ms));

/** Follows the events as long as the page is open, and connects again when the stream ends. */
export async function followEvents() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      let name = "message";
      for await (const line of lines("/api/events")) {
        connected.value = true;
        wait = 500;
        if (line.startsWith("event:")) name = line.slice(6).trim();
        else if (line.startsWith("data:")) dispatch(name, line.slice(5));
        else if (line === "") name = "message";
      }
    } catch {
      // The next attempt says whether the server is there.
    }
    connected.value = false;
    await sleep(wait);
  }
}
