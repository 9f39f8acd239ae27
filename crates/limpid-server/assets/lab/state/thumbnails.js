// All heads of a pass in small, as the stream brings them.
import { signal, useEffect } from "../ui.js";
import { pieces, url } from "./api.js";
import { Cache } from "./cache.js";

/** @typedef {{ rows: number, columns: number, bytes: Uint8Array }} Small */
/**
 * @typedef {object} Heads
 * @property {import("../vendor/signals.js").Signal<number>} count how many are there
 * @property {Map<string, Small>} small by "attention/head"
 * @property {import("../vendor/signals.js").Signal<Error | null>} error
 * @property {boolean} done
 */

/** @type {Cache<Heads>} */
const passes = new Cache(12);

/** @param {string} pass @returns {Heads} */
export function thumbnailsOf(pass) {
  const found = passes.get(pass);
  if (found && !found.error.peek()) return found;
  /** @type {Heads} */
  const heads = {
    count: signal(0), small: new Map(), error: signal(/** @type {Error | null} */ (null)),
    done: false,
  };
  passes.set(pass, heads);
  read(pass, heads).then(
    () => {
      heads.done = true;
    },
    (error) => {
      heads.error.value = error;
    },
  );
  return heads;
}

/** @param {string} pass @param {Heads} heads */
async function read(pass, heads) {
  let waiting = new Uint8Array(0);
  for await (const piece of pieces(url`/api/passes/${pass}/thumbnails`)) {
    const all = new Uint8Array(waiting.length + piece.length);
    all.set(waiting);
    all.set(piece, waiting.length);
    const view = new DataView(all.buffer);
    let at = 0;
    while (all.length - at >= 16) {
      const [attention, head, rows, columns] = /** @type {[number, number, number, number]} */ (
        [0, 4, 8, 12].map((k) => view.getUint32(at + k, true)));
      if (all.length - at - 16 < rows * columns) break;
      const bytes = all.slice(at + 16, at + 16 + rows * columns);
      heads.small.set(`${attention}/${head}`, { rows, columns, bytes });
      at += 16 + rows * columns;
    }
    waiting = all.slice(at);
    heads.count.value = heads.small.size;
  }
}

/** For a component: asks, and draws again as heads arrive. @param {string | null} pass */
export function useThumbnails(pass) {
  useEffect(() => {
    if (pass) thumbnailsOf(pass);
  }, [pass]);
  const heads = pass ? thumbnailsOf(pass) : null;
  // Reading the count subscribes the component.
  return heads && heads.count.value >= 0 ? heads : null;
}
