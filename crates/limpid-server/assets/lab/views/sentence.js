// Sentence: what happens to the words. Each word as a token, where it looks, and its way up.
import { html } from "../ui.js";
import { Await, Failure } from "../show/await.js";
import { Bars } from "../show/bars.js";
import { FAINT, Links } from "../show/links.js";
import { Tokens, visible, word } from "../show/token.js";
import { loadWeights, placeOf } from "../state/attention.js";
import { side, usePass } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { select, selection } from "../state/selection.js";
import { strings } from "../strings.js";
import { percent } from "../format.js";
import { Heads } from "./heads.js";
import { TokenPath } from "./token-path.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Attention} Attention
 */

/** Sequences up to this length get lines between their tokens. */
const DRAWN = 48;

export function View() {
  const pass = usePass();
  return html`<${Await} of=${pass} shape="tall">${(/** @type {Pass} */ found) => html`
    ${found.notes.map((note) => html`<p class="note" key=${note}>${note}</p>`)}
    <div class="opening">
      ${
        found.target && found.output
          ? html`<${Translated} pass=${found} />`
          : html`<${Single} pass=${found} />`
      }
      <${Predictions} pass=${found} />
    </div>
    ${
      found.attentions.length > 0 &&
      html`<section class="stack tight">
      <h2>${strings.sentence.heads}</h2><p class="soft">${strings.sentence.headsHelp}</p>
      <${Heads} pass=${found} /></section>`
    }
    <${TokenPath} pass=${found} />`}<//>`;
}

/**
 * The layers' mean weights, of which the sharpest says most about the words.
 * @param {Pass} pass
 * @param {Attention[]} attentions
 */
async function sharpest(pass, attentions) {
  const all = await Promise.all(
    attentions.map(async (attention) => {
      const weights = await loadWeights(pass, attention, -1, 0, attention.t);
      let sum = 0;
      for (let i = 0; i < attention.t; i += 1) {
        let most = 0;
        for (let j = 0; j < attention.s; j += 1)
          most = Math.max(most, weights[i * attention.s + j] ?? 0);
        sum += most;
      }
      return { attention, weights, sum };
    }),
  );
  return all.reduce((best, one) => (one.sum > best.sum ? one : best));
}

/** A sentence and what became of it. @param {{ pass: Pass }} props */
export function Translated({ pass }) {
  const cross = pass.attentions.filter((one) => placeOf(one) === "cross");
  const output = pass.output ?? [];
  const drawn = cross.length > 0 && pass.source.length <= DRAWN && output.length <= DRAWN;
  const found = useResource(drawn ? `sharpest ${pass.id}` : null, () => sharpest(pass, cross));
  const { side: which, token } = selection.value;
  const target = which === "target" ? token : -1;
  const best = found.value;
  const links = best
    ? [...best.weights].map((weight, k) => ({
        from: Math.floor(k / best.attention.s),
        to: k % best.attention.s,
        weight,
      }))
    : [];
  const choose = (/** @type {string} */ side) => (/** @type {number} */ index) =>
    select(side === which && index === token ? { token: -1 } : { side, token: index });
  const said =
    best && target >= 0 && target < best.attention.t
      ? strongest(best.weights.slice(target * best.attention.s, (target + 1) * best.attention.s))
      : null;
  return html`<section class="stack tight hero">
    <${Links} links=${links} kind="between" chosen=${target}>
      <${Tokens} tokens=${pass.source} side="source" label=${strings.sentence.source}
        selected=${which === "target" ? -1 : token} onSelect=${choose("source")}
        weight=${
          best && target >= 0
            ? (/** @type {number} */ j) => best.weights[target * best.attention.s + j] ?? 0
            : undefined
        } />
      <${Tokens} tokens=${output} side="target" label=${strings.sentence.output}
        selected=${target} onSelect=${choose("target")} />
    <//>
    ${found.error && html`<${Failure} error=${found.error} />`}
    <p class="small soft" aria-live="polite">${
      said && best
        ? strings.sentence.looked(
            word(output[target]),
            word(pass.source[said.at]),
            percent(said.weight),
          )
        : best
          ? strings.sentence.lines(best.attention.layer, percent(FAINT))
          : cross.length === 0
            ? strings.sentence.noCross
            : drawn
              ? strings.waiting
              : strings.sentence.tooMany
    }</p>
  </section>`;
}

/** @param {Float32Array} weights */
function strongest(weights) {
  let at = 0;
  weights.forEach((weight, j) => {
    if (weight > (weights[at] ?? 0)) at = j;
  });
  return { at, weight: weights[at] ?? 0 };
}

/** One sequence, and where its tokens look. @param {{ pass: Pass }} props */
function Single({ pass }) {
  const tokens = pass.source;
  const { token, layer } = selection.value;
  const attention = pass.attentions.find((one) => one.layer === layer) ?? pass.attentions[0];
  const at = token >= 0 && token < tokens.length ? token : tokens.length - 1;
  const found = useResource(
    attention && tokens.length > 0 ? `row ${pass.id} ${attention.index} ${at}` : null,
    () =>
      attention
        ? loadWeights(pass, attention, -1, at, 1)
        : Promise.reject(new Error(strings.errors.nothing)),
  );
  const weights = found.value;
  const drawn = tokens.length <= DRAWN;
  const links =
    drawn && weights ? [...weights].map((weight, to) => ({ from: at, to, weight })) : [];
  const said = weights ? strongest(weights) : null;
  return html`<section class="stack tight hero">
    <${Links} links=${links} kind="arcs" chosen=${at}>
      <${Tokens} tokens=${tokens} side="source" label=${strings.sentence.source} selected=${at}
        onSelect=${(/** @type {number} */ index) => select({ token: index, side: "source" })}
        weight=${weights ? (/** @type {number} */ j) => weights[j] ?? 0 : undefined} />
    <//>
    <p class="small soft" aria-live="polite">${
      said && attention
        ? strings.sentence.lookedIn(
            word(tokens[at]),
            word(tokens[said.at]),
            percent(said.weight),
            attention.layer,
          )
        : ""
    }</p>
  </section>`;
}

/** What the model expects at the selected position. @param {{ pass: Pass }} props */
function Predictions({ pass }) {
  const { token, side: which } = selection.value;
  const mine = pass.predictions.find(
    (one) => one.row === token && (one.of !== "target" || which === "target"),
  );
  const one = mine ?? (pass.output ? pass.predictions[0] : pass.predictions.at(-1));
  if (!one) return null;
  const row = one.row ?? null;
  const read = row === null ? undefined : side(pass, one.of)[row];
  const head = row === null ? strings.sentence.whole
    : pass.output ? strings.sentence.next(word(pass.output[row]))
      : pass.kind === "decoder" ? strings.sentence.after(word(read))
        : strings.sentence.here(word(read));
  return html`<section class="stack tight"><h2>${head}</h2>
    <${Bars} label=${head} bars=${one.top.map((each) => ({
      key: each.id,
      text: visible(each.text),
      value: each.probability,
      chosen: each.id === one.chosen?.id,
      place: pass.logits && row !== null ? { kind: "probability", row, id: each.id } : null,
    }))} />
    ${
      one.chosen &&
      one.chosen.rank > one.top.length &&
      html`<p class="small soft">
      ${strings.sentence.rank(visible(one.chosen.text), one.chosen.rank,
        percent(one.chosen.probability))}
    </p>`
    }
  </section>`;
}
