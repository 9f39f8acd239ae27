// Attention: who looks where. All heads in small, one in large, one row in numbers.
import { html, useEffect, useState } from "../ui.js";
import { percent, short } from "../format.js";
import { Await } from "../show/await.js";
import { HeatMap } from "../show/heat-map.js";
import { Value } from "../show/number.js";
import { AsTable } from "../show/table.js";
import { visible, word } from "../show/token.js";
import {
  MOST_WEIGHTS,
  loadTile,
  loadWeights,
  placeOf,
  placesOf,
  selected,
} from "../state/attention.js";
import { rowTokens, side, usePass } from "../state/lab.js";
import { openNumber } from "../state/numbers.js";
import { useResource } from "../state/resource.js";
import { select, selection } from "../state/selection.js";
import { strings } from "../strings.js";
import { Heads, useRoles } from "./heads.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Attention} Attention
 */

export function View() {
  const pass = usePass();
  return html`<${Await} of=${pass} shape="tall">${(/** @type {Pass} */ found) => {
    const attention = selected(found);
    if (!attention) return html`<p class="note">${strings.unfit.attention}</p>`;
    return html`<${Choice} pass=${found} attention=${attention} />
      <div class="attention-layout">
        <${Head} pass=${found} attention=${attention} />
        <${Heads} pass=${found} only=${placeOf(attention)} />
      </div>`;
  }}<//>`;
}

/** Which attention, layer and head. @param {{ pass: Pass, attention: Attention }} props */
function Choice({ pass, attention }) {
  const { head } = selection.value;
  const place = placeOf(attention);
  const places = placesOf(pass);
  const layers = pass.attentions.filter((one) => placeOf(one) === place);
  const number = (/** @type {Event} */ event) =>
    Number(/** @type {HTMLSelectElement} */ (event.currentTarget).value);
  return html`<div class="row choice">
    ${
      places.length > 1 &&
      html`<div class="tabs" role="group" aria-label=${strings.attention.which}>
      ${places.map(
        (one) => html`<button key=${one} aria-pressed=${one === place ? "true" : "false"}
        onClick=${() => select({ place: one, token: -1, key: -1 })}>${
          strings.attention.places[/** @type {keyof typeof strings.attention.places} */ (one)]
        }</button>`,
      )}</div>`
    }
    <label>${strings.attention.layerHead} <select value=${attention.layer}
      onChange=${(/** @type {Event} */ event) => select({ place, layer: number(event) })}>
      ${layers.map((one) => html`<option key=${one.layer}
        value=${one.layer}>${one.layer}</option>`)}
    </select></label>
    <label>${strings.attention.head} <select value=${Math.min(head, attention.heads - 1)}
      onChange=${(/** @type {Event} */ event) => select({ place, head: number(event) })}>
      <option value="-1">${strings.attention.mean}</option>
      ${[...Array(attention.heads).keys()].map(
        (k) => html`<option key=${k} value=${k}>${k}</option>`,
      )}</select></label>
  </div>`;
}

/** @param {{ pass: Pass, attention: Attention }} props */
function Head({ pass, attention }) {
  const { token, key } = selection.value;
  const head = Math.min(selection.value.head, attention.heads - 1);
  const queries = rowTokens(pass, attention);
  const keys = side(pass, attention.keys);
  // A token of the other sequence is no row here.
  const mine = selection.value.side === "" || selection.value.side === attention.queries;
  const row = mine && token >= 0 && token < attention.t ? token : -1;
  const column = key >= 0 && key < attention.s ? key : -1;
  const roles = useRoles(pass);
  const role = head >= 0 ? roles.get(`${attention.index}/${head}`) : undefined;
  const exact = useResource(
    row >= 0 ? `row ${pass.id} ${attention.index} ${head} ${row}` : null,
    () => loadWeights(pass, attention, head, row, 1),
  );
  const weights = exact.stale ? undefined : exact.value;
  useEffect(() => {
    // The rows beside the cursor, so that walking with the arrow keys has no pauses.
    for (const next of [row - 1, row + 1]) {
      if (row >= 0 && next >= 0 && next < attention.t)
        loadWeights(pass, attention, head, next, 1).catch(() => {});
    }
  }, [pass.id, attention.index, head, row]);
  const open = (/** @type {{ row: number, column: number }} */ cell) =>
    head >= 0 &&
    openNumber({
      kind: "weight",
      step: attention.step,
      head,
      query: cell.row,
      key: cell.column,
    });
  const label = strings.attention.mapLabel(placeOf(attention), attention.layer, head);
  return html`<section class="stack tight">
    <${HeatMap} label=${label} selected=${row >= 0 ? { row, column: Math.max(0, column) } : null}
      onOpen=${open}
      onSelect=${(
        /** @type {{ row: number, column: number }} */ cell,
        /** @type {"step" | "glide"} */ how,
      ) =>
        select(
          {
            token: cell.row,
            key: cell.column,
            side: attention.queries,
          },
          how,
        )}
      describe=${(
        /** @type {{ row: number, column: number }} */ cell,
        /** @type {number | null} */ rough,
      ) => {
        const known = cell.row === row ? weights?.[cell.column] : undefined;
        const weight = known ?? rough;
        return strings.attention.looks(
          word(queries[cell.row]),
          word(keys[cell.column]),
          weight == null ? "…" : percent(weight),
        );
      }}
      matrix=${{
        key: `${pass.id} ${attention.index} ${head}`,
        rows: attention.t,
        columns: attention.s,
        load: (/** @type {import("../show/heat-frame.js").TileName} */ tile) =>
          loadTile(pass, attention, head, tile),
        rowLabel: (/** @type {number} */ k) => word(queries[k]),
        columnLabel: (/** @type {number} */ k) => word(keys[k]),
      }} />
    ${
      role &&
      html`<p>${strings.attention.does(
        strings.roles[/** @type {keyof typeof strings.roles} */ (role.role)],
        percent(role.share),
        short(role.entropy),
      )}</p>`
    }
    ${
      row >= 0 &&
      html`<${Row} pass=${pass} attention=${attention} head=${head} row=${row}
      column=${column} weights=${weights} />`
    }
    <${WeightsTable} pass=${pass} attention=${attention} head=${head} row=${Math.max(0, row)} />
  </section>`;
}

/**
 * One row in numbers, each of which opens.
 * @param {{ pass: Pass, attention: Attention, head: number, row: number, column: number,
 *   weights: Float32Array | undefined }} props
 */
function Row({ pass, attention, head, row, column, weights }) {
  const queries = rowTokens(pass, attention);
  const keys = side(pass, attention.keys);
  const order = weights
    ? [...weights.keys()].sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0)).slice(0, 8)
    : [];
  if (column >= 0 && weights && !order.includes(column)) order.push(column);
  const rest = weights ? 1 - order.reduce((sum, j) => sum + (weights[j] ?? 0), 0) : 0;
  return html`<div class="stack tight row-numbers">
    <h2 class="minor">${strings.attention.row(word(queries[row]))}</h2>
    ${head < 0 && html`<p class="small soft">${strings.attention.meanHelp}</p>`}
    <ul class="bars" aria-label=${strings.attention.row(word(queries[row]))}>
      ${
        weights
          ? order.map(
              (j) => html`<li key=${j} class=${j === column ? "chosen" : ""}>
        <span class="name"><bdi>${visible(keys[j]?.text ?? "")}</bdi> <span
          class="soft small">${j}</span></span>
        <span class="track"><span class="bar" style=${{ width: `${(weights[j]
          ?? 0) * 100}%` }}></span></span>
        <span class="value"><${Value} value=${weights[j] ?? 0} text=${percent(weights[j] ?? 0)}
          label=${word(keys[j])} place=${
            head < 0
              ? null
              : {
                  kind: "weight",
                  step: attention.step,
                  head,
                  query: row,
                  key: j,
                }
          } /></span>
      </li>`,
            )
          : html`<li class="waiting line"></li>`
      }
    </ul>
    ${
      weights &&
      order.length < attention.s &&
      html`<p class="small soft">
      ${strings.attention.others(attention.s - order.length, percent(Math.max(0, rest)))}</p>`
    }
  </div>`;
}

/** @param {{ pass: Pass, attention: Attention, head: number, row: number }} props */
function WeightsTable({ pass, attention, head, row }) {
  const queries = rowTokens(pass, attention);
  const keys = side(pass, attention.keys);
  const rows = Math.min(24, attention.t, Math.max(1, Math.floor(MOST_WEIGHTS / attention.s)));
  const top = Math.max(0, Math.min(row - rows / 2, attention.t - rows));
  const first = Math.floor(top);
  const [open, setOpen] = useState(false);
  const found = useResource(
    open ? `table ${pass.id} ${attention.index} ${head} ${first}` : null,
    () => loadWeights(pass, attention, head, first, rows),
  );
  const { key } = selection.value;
  return html`<${AsTable} onOpen=${setOpen}
    caption=${strings.attention.mapLabel(placeOf(attention), attention.layer, head)}
    rows=${attention.t} columns=${attention.s} row=${row} column=${Math.max(0, key)}
    rowLabel=${(/** @type {number} */ i) => word(queries[i])}
    columnLabel=${(/** @type {number} */ j) => word(keys[j])}
    cell=${(/** @type {number} */ i, /** @type {number} */ j) => {
      const value = found.value?.[(i - first) * attention.s + j];
      if (value === undefined) return "…";
      return html`<${Value} value=${value} label="" place=${
        head < 0
          ? null
          : {
              kind: "weight",
              step: attention.step,
              head,
              query: i,
              key: j,
            }
      } />`;
    }} />`;
}
