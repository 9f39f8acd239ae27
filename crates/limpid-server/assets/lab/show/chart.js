// Curves that grow while a run learns. The library is loaded when the first curve is shown.
import { html, useEffect, useRef } from "../ui.js";
import { theme } from "./colours.js";

/**
 * @typedef {object} Curve
 * @property {string} name
 * @property {number[]} x rising
 * @property {(number | null)[]} y
 */

/** @type {Promise<any> | null} */
let library = null;

function load() {
  library ??= import("../vendor/uplot.js").then((found) => {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("../vendor/uplot.css", import.meta.url).href;
    document.head.append(style);
    return found.default;
  });
  return library;
}

/**
 * Curves over one axis of steps.
 * @param {Curve[]} curves
 * @returns {(number | null)[][]}
 */
function align(curves) {
  const steps = [...new Set(curves.flatMap((one) => one.x))].sort((a, b) => a - b);
  const index = new Map(steps.map((step, k) => [step, k]));
  const columns = curves.map((one) => {
    const column = /** @type {(number | null)[]} */ (Array(steps.length).fill(null));
    one.x.forEach((step, k) => {
      column[index.get(step) ?? 0] = one.y[k] ?? null;
    });
    return column;
  });
  return [steps, ...columns];
}

/**
 * @param {object} props
 * @param {Curve[]} props.curves
 * @param {string} props.label
 * @param {string} props.summary the same in a sentence
 * @param {string} props.axis
 */
export function Chart({ curves, label, summary, axis }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const shape = `${theme.value} ${curves.map((one) => one.name).join("\n")}`;
  const latest = useRef(curves);
  latest.current = curves;
  useEffect(() => {
    let wanted = true;
    const sized = new ResizeObserver(([entry]) => {
      if (entry) plot.current?.setSize({ width: entry.contentRect.width, height: 260 });
    });
    load().then((Plot) => {
      const element = box.current;
      if (!wanted || !element) return;
      const style = getComputedStyle(element);
      const colour = (/** @type {string} */ name) => {
        const probe = document.createElement("span");
        probe.style.color = `var(--${name})`;
        element.append(probe);
        const found = getComputedStyle(probe).color;
        probe.remove();
        return found;
      };
      const axes = {
        stroke: colour("ink-2"), grid: { stroke: colour("line"), width: 1 },
        ticks: { stroke: colour("line"), width: 1 }, font: `12px ${style.fontFamily}`,
      };
      plot.current = new Plot({
        width: element.clientWidth, height: 260, scales: { x: { time: false } },
        axes: [{ ...axes, label: axis, labelFont: `12px ${style.fontFamily}` }, axes],
        cursor: { drag: { x: true, y: false } },
        series: [{ label: axis }, ...latest.current.map((one, k) => ({
          label: one.name, stroke: colour(`series-${(k % 4) + 1}`), width: 2, spanGaps: true,
          dash: k > 3 ? [6, 4] : [], points: { show: one.x.length < 2 },
        }))],
      }, align(latest.current), element);
      sized.observe(element);
    });
    return () => {
      wanted = false;
      sized.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(align(curves));
  }, [curves]);
  return html`<figure class="chart"><figcaption>${label}</figcaption>
    <div class="plot" ref=${box} role="img" aria-label=${`${label}. ${summary}`}></div>
    <p class="small soft">${summary}</p></figure>`;
}
