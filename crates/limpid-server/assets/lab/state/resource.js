// What a view waits for: an answer under a key, loading, there, or failed.
import { useEffect, useRef, useState } from "../ui.js";
import { Cache } from "./cache.js";

/** @type {Cache<Promise<unknown>>} */
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
 * Loads an answer once for a key.
 * @template T
 * @param {string} key
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @returns {Promise<T>}
 */
export function once(key, load) {
  const found = /** @type {Promise<T> | undefined} */ (answers.get(key));
  if (found) return found;
  const promise = load(new AbortController().signal);
  answers.set(key, promise);
  promise.then(
    (value) => ready.set(key, { value }),
    () => answers.delete(key),
  );
  return promise;
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
    once(key, load).then(
      () => wanted && redraw((n) => n + 1),
      (error) => {
        failed.current = { key, error };
        if (wanted) redraw((n) => n + 1);
      },
    );
    return () => {
      wanted = false;
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
