// What a view waits for: an answer under a key, loading, there, or failed.
import { useEffect, useRef, useState } from "../ui.js";
import { Cache } from "./cache.js";

/**
 * @typedef {object} Asked
 * @property {Promise<unknown>} promise
 * @property {AbortController} abort
 * @property {number} waiting how many want the answer
 */

/** @type {Cache<Asked>} */
const answers = new Cache(200);
/** @type {Cache<{ value: unknown }>} */
const ready = new Cache(200);

/**
 * @template T
 * @typedef {object} Resource
 * @property {T | undefined} value the answer, or while a new one loads the one before
 * @property {Error | undefined} error why there is none
 * @property {boolean} loading whether it is still under way
 * @property {boolean} stale whether `value` belongs to an earlier key
 */

/**
 * @param {string} key
 * @param {(signal: AbortSignal) => Promise<unknown>} load
 * @returns {Asked}
 */
function ask(key, load) {
  const found = answers.get(key);
  if (found) return found;
  const abort = new AbortController();
  const asked = { promise: load(abort.signal), abort, waiting: 0 };
  answers.set(key, asked);
  asked.promise.then(
    (value) => ready.set(key, { value }),
    () => answers.get(key) === asked && answers.delete(key),
  );
  return asked;
}

/**
 * Loads an answer once for a key.
 * @template T
 * @param {string} key
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @returns {Promise<T>}
 */
export function once(key, load) {
  const asked = ask(key, load);
  asked.waiting += 1;
  return /** @type {Promise<T>} */ (asked.promise);
}

/** Forgets everything: after a model has changed on disk, say. */
export function forget() {
  answers.clear();
  ready.clear();
}

/**
 * An answer for a component. Without a key nothing is asked. While a new answer is on its way the
 * old one stays, so that nothing jumps.
 * @template T
 * @param {string | null} key
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @returns {Resource<T>}
 */
export function useResource(key, load) {
  const [, redraw] = useState(0);
  const last = useRef(/** @type {{ key: string, value: T } | undefined} */ (undefined));
  const failed = useRef(/** @type {{ key: string, error: Error } | undefined} */ (undefined));
  const there = key === null ? undefined : /** @type {{ value: T } | undefined} */ (ready.get(key));
  if (key !== null && there) last.current = { key, value: there.value };
  useEffect(() => {
    if (key === null || ready.get(key)) return undefined;
    let wanted = true;
    failed.current = undefined;
    const asked = ask(key, load);
    asked.waiting += 1;
    asked.promise.then(
      () => wanted && redraw((n) => n + 1),
      (error) => {
        if (!wanted) return;
        failed.current = { key, error };
        redraw((n) => n + 1);
      },
    );
    return () => {
      wanted = false;
      asked.waiting -= 1;
      // Nobody waits any more: the sentence was typed on, say. The engine can leave it.
      if (asked.waiting === 0 && !ready.get(key)) {
        answers.delete(key);
        asked.abort.abort();
      }
    };
  }, [key]);
  const error = failed.current?.key === key ? failed.current?.error : undefined;
  const current = key === null ? undefined : last.current;
  return {
    value: error ? undefined : current?.value,
    error,
    loading: key !== null && !there && !error,
    stale: current !== undefined && current.key !== key,
  };
}
