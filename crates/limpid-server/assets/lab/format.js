// Numbers as text. The page never rounds what it computes with, only what it shows.

/**
 * A number with about four digits that matter.
 * @param {number} value
 * @returns {string}
 */
export function short(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : value < 0 ? "−∞" : "NaN";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e5 || size < 1e-4) {
    return minus(value.toExponential(2)).replace(/e\+?(−?)0*(\d+)$/, "e$1$2");
  }
  if (Number.isInteger(value)) return minus(String(value));
  const decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 0.01 ? 3 : 5;
  return minus(value.toFixed(decimals));
}

/** All digits of a single-precision number. @param {number} value */
export function full(value) {
  if (!Number.isFinite(value)) return short(value);
  const single = Math.fround(value);
  for (let digits = 1; digits <= 9; digits += 1) {
    const text = single.toPrecision(digits);
    if (Math.fround(Number(text)) === single) return minus(String(Number(text)));
  }
  return minus(String(single));
}

/** @param {number} value */
export function double(value) {
  return Number.isFinite(value) ? minus(String(Number(value.toPrecision(12)))) : short(value);
}

/** @param {string} text */
const minus = (text) => text.replaceAll("-", "−");

/** A probability. @param {number} value */
export function percent(value) {
  if (!Number.isFinite(value)) return "–";
  const hundredth = value * 100;
  if (value === 1) return "100%";
  if (hundredth >= 99.95 && value < 1) return "> 99.9%";
  if (hundredth >= 10) return `${hundredth.toFixed(hundredth >= 99.5 ? 1 : 0)}%`;
  if (hundredth >= 0.1) return `${hundredth.toFixed(1)}%`;
  return value > 0 ? "< 0.1%" : "0%";
}

const grouped = new Intl.NumberFormat("en-US");

/** A whole number with separators. @param {number} value */
export const count = (value) => grouped.format(Math.round(value));

/** A large number in words: 1.49 million. @param {number} value */
export function about(value) {
  if (value >= 1e9) return `${(value / 1e9).toPrecision(3)} billion`;
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} million`;
  return count(value);
}

/** @param {number} bytes */
export function bytes(bytes) {
  if (bytes >= 2 ** 30) return `${(bytes / 2 ** 30).toFixed(1)} GB`;
  if (bytes >= 2 ** 20) return `${(bytes / 2 ** 20).toFixed(bytes >= 100 * 2 ** 20 ? 0 : 1)} MB`;
  return `${Math.max(1, Math.round(bytes / 1024))} KB`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** A difference with its sign. @param {number} value */
export const signed = (value) => (value > 0 ? `+${short(value)}` : short(value));
