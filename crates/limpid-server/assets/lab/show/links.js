// Lines between tokens: between a sentence and its translation, or arcs within a sentence.
import { html, useLayoutEffect, useRef, useState } from "../ui.js";
import { hovered } from "../state/selection.js";

/**
 * @typedef {object} Link
 * @property {number} from index in the first row
 * @property {number} to index in the second row, or of an arc in the same
 * @property {number} weight
 */

/** Lines thinner than this are left out, and said to be. */
export const FAINT = 0.04;

/**
 * @param {object} props
 * @param {Link[]} props.links
 * @param {"between" | "arcs"} props.kind
 * @param {any} props.children rows of tokens; those whose lines are drawn carry `data-row`
 * @param {number} props.chosen index in the first row whose lines stand out, or -1
 */
export function Links({ links, kind, children, chosen }) {
  const box = useRef(/** @type {HTMLDivElement | null} */ (null));
  const [points, setPoints] = useState(/** @type {number[][][]} */ ([]));
  const [size, setSize] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = () => {
      const edge = element.getBoundingClientRect();
      const rows = [...element.querySelectorAll(".tokens")].map((row, index) =>
        [...row.querySelectorAll(".token")].map((token) => {
          const at = token.getBoundingClientRect();
          const y = kind === "arcs" || index === 1 ? at.top : at.bottom;
          return [at.left + at.width / 2 - edge.left, y - edge.top];
        }));
      setPoints(rows);
      setSize({ width: element.clientWidth, height: element.clientHeight });
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    element.addEventListener("scroll", measure, { capture: true, passive: true });
    return () => {
      watch.disconnect();
      element.removeEventListener("scroll", measure, { capture: true });
    };
  }, [links, kind]);
  const over = hovered.value;
  const first = points[0] ?? [];
  const second = kind === "arcs" ? first : (points[1] ?? []);
  const focus = (/** @type {Link} */ link) => {
    if (over) {
      const mine = over.side === (kind === "arcs" ? "source" : "target") ? link.from : link.to;
      return mine === over.token;
    }
    return chosen < 0 || link.from === chosen;
  };
  return html`<div class=${`links ${kind}`} ref=${box}>
    <svg aria-hidden="true" width=${size.width} height=${size.height}>
      ${links.filter((link) => link.weight >= FAINT).map((link) => {
        const [x1 = 0, y1 = 0] = (kind === "arcs" ? first : second)[link.from] ?? [];
        const [x2 = 0, y2 = 0] = first[link.to] ?? [];
        if (!x1 || !x2) return null;
        const bend = kind === "arcs"
          ? `Q ${(x1 + x2) / 2} ${Math.max(2, y1 - 18 - Math.abs(x1 - x2) * 0.42)} ${x2} ${y2}`
          : `C ${x1} ${(y1 + y2) / 2}, ${x2} ${(y1 + y2) / 2}, ${x2} ${y2}`;
        return html`<path key=${`${link.from} ${link.to}`} d=${`M ${x1} ${y1} ${bend}`}
          class=${focus(link) ? "" : "dim"}
          stroke-width=${1 + 7 * link.weight} stroke-opacity=${0.15 + 0.75 * link.weight} />`;
      })}
    </svg>
    ${children}
  </div>`;
}
