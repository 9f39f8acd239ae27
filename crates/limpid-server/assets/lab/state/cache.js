// Answers that were asked for once: views share them, and going back is instant.

/**
 * A cache that forgets what was used least recently.
 * @template T
 */
export class Cache {
  /** @param {number} limit entries that are kept */
  constructor(limit) {
    this.limit = limit;
    /** @type {Map<string, T>} */
    this.entries = new Map();
  }

  /** @param {string} key */
  get(key) {
    const found = this.entries.get(key);
    if (found !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  /**
   * @param {string} key
   * @param {T} value
   */
  set(key, value) {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.limit) {
      const [oldest] = this.entries.keys();
      if (oldest !== undefined) this.entries.delete(oldest);
    }
  }

  /** @param {string} key */
  delete(key) {
    this.entries.delete(key);
  }

  clear() {
    this.entries.clear();
  }
}
