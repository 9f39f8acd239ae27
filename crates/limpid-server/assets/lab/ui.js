// The vendored libraries under one name: components, hooks, signals and templates.
import { Fragment, h, render } from "./vendor/preact.js";
import { batch, computed, effect, signal, untracked } from "./vendor/signals.js";
import htm from "./vendor/htm.js";

export { Fragment, batch, computed, effect, h, render, signal, untracked };
export {
  useCallback, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useRef, useState,
} from "./vendor/hooks.js";

/**
 * Markup as a tagged template. What stands in `${}` becomes text nodes and properties, never
 * markup: there is no way to insert HTML.
 * @type {(strings: TemplateStringsArray, ...values: any[]) => any}
 */
export const html = htm.bind(h);
