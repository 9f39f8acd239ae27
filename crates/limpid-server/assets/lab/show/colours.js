// Colours of numbers. Each scale is monotone in luminance, so that it reads in grey, in print and
// without colour vision: on paper more is darker, on a dark page more is brighter.
import { computed, signal } from "../ui.js";

/** @typedef {[number, number, number]} Rgb */

/** @type {Record<"light" | "dark", { heat: Rgb[], less: Rgb[], more: Rgb[] }>} */
const STOPS = {
  light: {
    heat: [[248, 246, 241], [206, 224, 233], [124, 174, 203], [52, 112, 156], [14, 41, 79]],
    less: [[248, 246, 241], [243, 211, 190], [216, 146, 104], [162, 73, 31], [88, 31, 8]],
    more: [[248, 246, 241], [206, 224, 233], [124, 174, 203], [52, 112, 156], [14, 41, 79]],
  },
  dark: {
    heat: [[20, 23, 27], [28, 58, 84], [44, 110, 150], [112, 184, 214], [240, 247, 226]],
    less: [[20, 23, 27], [74, 40, 24], [148, 80, 46], [222, 144, 104], [255, 231, 214]],
    more: [[20, 23, 27], [28, 58, 84], [44, 110, 150], [112, 184, 214], [228, 244, 250]],
  },
};

/**
 * @param {Rgb[]} stops
 * @param {number} at from 0 to 1
 * @returns {Rgb}
 */
function mix(stops, at) {
  const place = Math.min(1, Math.max(0, at)) * (stops.length - 1);
  const index = Math.min(stops.length - 2, Math.floor(place));
  const from = /** @type {Rgb} */ (stops[index]);
  const to = /** @type {Rgb} */ (stops[index + 1]);
  const share = place - index;
  return /** @type {Rgb} */ (from.map((value, i) => value + ((to[i] ?? 0) - value) * share));
}

/** Colours for the 256 values of a byte. @param {Rgb[]} stops */
function table(stops) {
  const bytes = new Uint8ClampedArray(256 * 4);
  for (let value = 0; value < 256; value += 1) {
    bytes.set([...mix(stops, value / 255), 255], value * 4);
  }
  return bytes;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const system = signal(dark.matches);
dark.addEventListener("change", () => {
  system.value = dark.matches;
});

/** What the reader chose: "auto", "light" or "dark". */
export const chosenTheme = signal("auto");
/** The theme in use. */
export const theme = computed(() => {
  const chosen = chosenTheme.value;
  return chosen === "light" || chosen === "dark" ? chosen : system.value ? "dark" : "light";
});

const TABLES = { light: table(STOPS.light.heat), dark: table(STOPS.dark.heat) };

/** The heat colours of the theme in use, four bytes for each value of a byte. */
export const heatTable = computed(() => TABLES[theme.value]);

/** @param {Rgb} rgb */
const css = (rgb) => `rgb(${rgb.map(Math.round).join(" ")})`;

/** The colour of a weight from 0 to 1, spread by its square root as in the maps. */
export const heat = (/** @type {number} */ weight) =>
  css(mix(STOPS[theme.value].heat, Math.sqrt(Math.max(0, weight))));

/** The colour of a signed number. @param {number} value @param {number} largest */
export function signedColour(value, largest) {
  const { less, more } = STOPS[theme.value];
  return css(mix(value < 0 ? less : more, largest > 0 ? Math.abs(value) / largest : 0));
}

/** Luminance, as contrast is measured by. @param {Rgb} rgb */
function luminance(rgb) {
  const [red = 0, green = 0, blue = 0] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The colour of text on the colour of a weight: black or white, whichever has more contrast. */
export const inkOn = (/** @type {number} */ weight) =>
  luminance(mix(STOPS[theme.value].heat, Math.sqrt(Math.max(0, weight)))) > 0.179 ? "#000" : "#fff";

/** Sets the theme and remembers it. @param {string} name */
export function chooseTheme(name) {
  chosenTheme.value = name;
  document.documentElement.dataset["theme"] = name === "auto" ? "" : name;
  try {
    localStorage.setItem("limpid-lab-theme", name);
  } catch {
    // It lasts as long as the tab.
  }
}

/** Takes the theme of an earlier visit. */
export function rememberTheme() {
  let name = "auto";
  try {
    name = localStorage.getItem("limpid-lab-theme") ?? "auto";
  } catch {
    // No storage: the system's.
  }
  chooseTheme(["auto", "light", "dark"].includes(name) ? name : "auto");
}
