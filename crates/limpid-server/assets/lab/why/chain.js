// The path from the number that was clicked to the one that is open now, and what it is made of.
import { html } from "../ui.js";
import { double, full, percent, short } from "../format.js";
import { Await } from "../show/await.js";
import { Value } from "../show/number.js";
import { visible, word } from "../show/token.js";
import { Formula, f, frac, i, n, o, row, sub, sum, sup } from "../show/formula.js";
import { post, url } from "../state/api.js";
import { usePass } from "../state/lab.js";
import { backTo, openInner, opened } from "../state/numbers.js";
import { useResource } from "../state/resource.js";
import { strings } from "../strings.js";
import { logitRow, nameOf, useExplanation } from "./explanation.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Explained} Explained
 * @typedef {import("../api.js").Factor} Factor
 * @typedef {import("../state/numbers.js").Place} Place
 * @typedef {import("./explanation.js").Softmax} Softmax
 */

export function Chain() {
  const pass = usePass();
  const places = opened.value;
  return html`<${Await} of=${pass} shape="tall">${(/** @type {Pass} */ found) => {
    const place = places.at(-1);
    if (!place) return html`<p class="soft">${strings.why.none}</p>`;
    return html`<${Path} pass=${found} places=${places} />
      <${Opened} pass=${found} place=${place} />`;
  }}<//>`;
}

/** @param {{ pass: Pass, places: Place[] }} props */
function Path({ pass, places }) {
  if (places.length < 2) return null;
  return html`<nav aria-label=${strings.why.path}><ol class="path">
    ${places.slice(0, -1).map(
      (place, depth) => html`<li key=${depth}>
      <button class="link small" onClick=${() => backTo(depth)}>${nameOf(pass, place)}</button>
    </li>`,
    )}
  </ol></nav>`;
}

/** @param {{ pass: Pass, place: Place }} props */
function Opened({ pass, place }) {
  const found = useExplanation(pass, place);
  return html`<section class="stack opened" aria-live="polite">
    <h2 class="minor">${nameOf(pass, place)}</h2>
    <${Await} of=${found} shape="tall">${(/** @type {Explained | Softmax} */ one) =>
      "kind" in one && place.kind === "probability"
        ? html`<${SoftmaxOf} pass=${pass} place=${place} found=${one} />`
        : html`<${Sum} pass=${pass} found=${one} />`}<//>
  </section>`;
}

/** @param {{ pass: Pass, found: Explained }} props */
function Sum({ pass, found }) {
  const largest = Math.max(...found.terms.map((term) => Math.abs(term.value)), 1e-30);
  const leaf = found.terms.length === 0;
  return html`
    <p class="big-number" title=${strings.why.digits}>${full(found.value)}</p>
    ${
      found.file &&
      html`<div class="leaf"><p>${strings.why.leaf}</p><dl>
      <dt>${strings.why.file}</dt><dd><code>${found.file.file}</code></dd>
      <dt>${strings.why.tensor}</dt><dd><code>${found.file.tensor}</code></dd>
      <dt>${strings.why.place}</dt>
      <dd class="mono">[${found.file.row}, ${found.file.column}], ${found.file.dtype}</dd>
    </dl></div>`
    }
    ${
      found.token &&
      html`<div class="leaf"><p>${strings.why.token(found.token.id)}${" "}
      <strong><bdi>${word(found.token)}</bdi></strong></p></div>`
    }
    ${
      !leaf &&
      html`
      <p class="made"><span class="soft">${found.operation}</span> <code>${found.formula}</code></p>
      <ol class="terms" aria-label=${strings.why.terms}>
        ${found.terms.map(
          (term, k) => html`<li key=${k}>
          <span class="term-value mono">${short(term.value)}</span>
          <span class=${`term-bar ${term.value < 0 ? "less" : "more"}`} aria-hidden="true"><span
            style=${{ width: `${(Math.abs(term.value) / largest) * 50}%` }}></span></span>
          <span class="factors">${term.factors.map(
            (factor, j) => html`
            ${j > 0 && html`<span class="soft"> × </span>`}
            <${FactorOf} key=${j} pass=${pass} factor=${factor} />`,
          )}</span>
        </li>`,
        )}
        ${
          found.rest.count > 0 &&
          html`<li class="soft rest">
          <span class="term-value mono">${short(found.rest.sum)}</span>
          <span class="small">${strings.why.rest(found.rest.count)}</span></li>`
        }
      </ol>
      <dl class="check">
        <dt>${strings.why.sum(found.count)}</dt><dd class="mono">${double(found.sum)}</dd>
        <dt>${strings.why.again}</dt><dd class="mono">${double(found.again)}</dd>
        <dt>${strings.why.stored}</dt><dd class="mono">${full(found.value)}</dd>
        <dt>${strings.why.difference}</dt><dd class="mono">${strings.why.ulps(found.ulps)}</dd>
      </dl>`
    }`;
}

/** @param {{ pass: Pass, factor: Factor }} props */
function FactorOf({ pass, factor }) {
  const { origin } = factor;
  const place = origin.kind === "constant" ? null : origin.element;
  const name = origin.kind === "constant" ? origin.symbol
    : origin.kind === "param" ? origin.name : nameOf(pass, origin.element);
  return html`<span class="factor">
    <${Value} value=${factor.value} place=${place} label=${name} open=${openInner} />
    <span class="origin" title=${name}>${
      origin.kind === "constant"
        ? origin.symbol
        : origin.kind === "param"
          ? strings.why.weightShort
          : name
    }</span></span>`;
}

/** @param {{ pass: Pass, place: import("./explanation.js").Probability, found: Softmax }} props */
function SoftmaxOf({ pass, place, found }) {
  const at = pass.logits;
  const model = pass.model;
  const ids = [place.id, ...found.top.map((one) => one.id)];
  const names = useResource(`names ${model} ${ids}`, (signal) =>
    post(url`/api/models/${model}/tokens`, { ids }, signal),
  );
  const tokens = /** @type {{ tokens: import("../api.js").Token[] } | undefined} */ (names.value);
  const nameOfId = (/** @type {number} */ k) => visible(tokens?.tokens[k]?.text ?? "…");
  const logit = (/** @type {number} */ id, /** @type {number} */ value) => html`<${Value}
    value=${value} label=${strings.why.logit} open=${openInner} place=${
      at
        ? {
            kind: "output",
            step: at.step,
            output: at.output,
            row: logitRow(pass, place.row),
            column: id,
          }
        : null
    } />`;
  return html`
    <p class="big-number">${percent(found.value)}</p>
    <p><strong><bdi>${nameOfId(0)}</bdi></strong> <span
      class="soft mono">${double(found.value)}</span></p>
    <${Formula}>${row(
      sub(i("p"), i("i")),
      o("="),
      frac(sup(i("e"), sub(i("z"), i("i"))), sum(i("j"), sup(i("e"), sub(i("z"), i("j"))))),
      o("="),
      f("softmax"),
    )}<//>
    <p>${strings.why.logitIs} ${logit(place.id, found.logit)}</p>
    <h3>${strings.why.largest}</h3>
    <table class="full"><thead><tr><th>${strings.why.tokenHead}</th>
      <th class="number">z</th><th class="number">p</th></tr></thead>
      <tbody>${found.top.map(
        (one, k) => html`<tr key=${one.id}>
        <td><bdi>${nameOfId(k + 1)}</bdi></td>
        <td class="number">${logit(one.id, one.logit)}</td>
        <td class="number">${percent(one.share)}</td></tr>`,
      )}
        <tr class="soft"><td colspan="2">${strings.why.others(found.others)}</td>
          <td class="number">${percent(Math.max(0, found.rest))}</td></tr>
      </tbody></table>
    <p class="small soft">${strings.why.normalizer}${" "}
      <${Formula} inline>${row(
        sum(i("j"), sup(i("e"), row(sub(i("z"), i("j")), o("−"), n(short(found.largest))))),
        o("="),
        n(double(found.total)),
      )}<//></p>`;
}
