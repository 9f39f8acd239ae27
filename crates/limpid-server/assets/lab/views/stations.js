// What each station of the tour shows: its formula and its numbers, each of which opens.
import { html } from "../ui.js";
import { percent } from "../format.js";
import { Await } from "../show/await.js";
import { Bars } from "../show/bars.js";
import { signedColour } from "../show/colours.js";
import { Formula, f, frac, i, n, o, paren, root, row, sub, sum, sup } from "../show/formula.js";
import { Cells, Value } from "../show/number.js";
import { Tokens, visible, word } from "../show/token.js";
import { post } from "../state/api.js";
import { loadRow, loadWeights, placeOf } from "../state/attention.js";
import { useResource } from "../state/resource.js";
import { select, selection } from "../state/selection.js";
import { strings } from "../strings.js";
import { Heads } from "./heads.js";
import { Translated } from "./sentence.js";
import { stagesOf } from "./token-path.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {{ pass: Pass }} Props
 * @typedef {{ step: number, output: number, columns: number }} Where
 */

const SHOWN = 32;

/**
 * The word that the tour follows: the selected one, or the last of the sentence.
 * @param {Pass} pass
 */
function followed(pass) {
  const { token, side } = selection.value;
  if (token >= 0 && token < pass.source.length && side !== "target") return token;
  const words = pass.source.findLastIndex((one) => !one.special);
  return Math.max(0, words);
}

/** The sentence, with the word that is followed. @param {Props} props */
const Words = ({ pass }) => html`<${Tokens} tokens=${pass.source} side="source"
  label=${strings.sentence.source} selected=${followed(pass)}
  onSelect=${(/** @type {number} */ token) => select({ token, side: "source" })} />`;

/**
 * A row of a tensor.
 * @param {{ pass: Pass, at: Where, row: number, title: string, from?: number,
 *   columns?: number }} props
 */
function Vector({ pass, at, row: which, title, from = 0, columns = at.columns }) {
  const shown = Math.min(SHOWN, columns);
  const found = useResource(
    `vector ${pass.id} ${at.step} ${at.output} ${which} ${from} ${shown}`,
    () => loadRow(pass, at, which, from, shown),
  );
  return html`<div class="stage"><span class="stage-title">${title}</span>
    <${Await} of=${found} shape="line">${(/** @type {Float32Array} */ values) => {
      const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
      return html`<${Cells} values=${values} label=${title}
        colour=${(/** @type {number} */ value) => signedColour(value, most)}
        place=${(/** @type {number} */ k) => ({
          kind: "output",
          step: at.step,
          output: at.output,
          row: which,
          column: from + k,
        })} />`;
    }}<//>
    <span class="small soft stage-facts">${strings.tour.first(shown, columns)}</span></div>`;
}

/** The stages of the word with these titles. @param {Props & { titles: string[] }} props */
function Stages({ pass, titles }) {
  const at = followed(pass);
  return html`${stagesOf(pass, "source", at)
    .filter((one) => titles.includes(one.title))
    .map(
      (one) =>
        html`<${Vector} key=${one.key} pass=${pass} at=${one} row=${at} title=${one.title} />`,
    )}`;
}

/** @param {Props} props */
const Letters = ({ pass }) => html`
  <${Formula}>${[
    row(
      f("“Je suis”"),
      o("→"),
      paren(...pass.source.slice(0, 6).flatMap((one, k) => [k > 0 ? o(",") : null, n(one.id)])),
    ),
  ]}<//>
  <${Words} pass=${pass} />
  <table><thead><tr><th>${strings.why.tokenHead}</th><th>${strings.tour.piece}</th>
    <th class="number">id</th></tr></thead><tbody>${pass.source.slice(0, 12).map(
      (one, k) => html`
    <tr key=${k}><td><bdi>${word(one)}</bdi></td><td class="mono">
      <bdi>${visible(one.piece)}</bdi></td>
      <td class="number">${one.id}</td></tr>`,
    )}</tbody></table>`;

/** @param {Props} props */
const Embedding = ({ pass }) => html`
  <${Formula}>${row(sub(i("e"), i("t")), o("="), i("E"), o("["), sub(i("id"), i("t")),
    o("]"))}<//>
  <${Words} pass=${pass} />
  <${Stages} pass=${pass} titles=${[strings.path.embedding]} />`;

/** @param {Props} props */
const Position = ({ pass }) => html`
  <${Formula}>${[
    row(
      f("PE"),
      paren(i("p"), o(","), row(n(2), i("i"))),
      o("="),
      f("sin"),
      frac(i("p"), sup(n(10000), row(n(2), i("i"), o("/"), i("d")))),
    ),
    row(
      f("PE"),
      paren(i("p"), o(","), row(n(2), i("i"), o("+"), n(1))),
      o("="),
      f("cos"),
      frac(i("p"), sup(n(10000), row(n(2), i("i"), o("/"), i("d")))),
    ),
  ]}<//>
  <${Words} pass=${pass} />
  <${Stages} pass=${pass} titles=${[
    strings.path.embedding,
    strings.path.position,
    strings.path.sum,
  ]} />`;

/** The first attention of the encoder. @param {Pass} pass */
const firstAttention = (pass) =>
  pass.attentions.find((one) => placeOf(one) === "encoder") ?? pass.attentions[0];

/** @param {Props} props */
function Projections({ pass }) {
  const attention = firstAttention(pass);
  const at = followed(pass);
  const of = (/** @type {string[]} */ roles) =>
    pass.tensors.filter(
      (one) =>
        roles.includes(one.role) &&
        one.stack === attention?.stack &&
        one.layer === attention?.layer &&
        one.of === "source",
    );
  // Where each vector stands: in a tensor of its own, or beside others in one.
  const [queries, keys] = attention
    ? [attention.heads * attention.head_dim, attention.kv_heads * attention.head_dim] : [0, 0];
  const [all] = of(["qkv"]);
  const [pair] = of(["kv"]);
  const vectors = [
    { at: all ?? of(["q"])[0], from: 0, columns: queries },
    { at: all ?? pair ?? of(["k"])[0], from: all ? queries : 0, columns: keys },
    {
      at: all ?? pair ?? of(["v"])[0], columns: keys,
      from: all ? queries + keys : pair ? keys : 0,
    },
  ];
  return html`
    <${Formula}>${[
      row(i("q"), o("="), i("x"), sub(i("W"), i("Q"))),
      row(i("k"), o("="), i("x"), sub(i("W"), i("K"))),
      row(i("v"), o("="), i("x"), sub(i("W"), i("V"))),
    ]}<//>
    <${Words} pass=${pass} />
    ${vectors.map(({ at: tensor, from, columns }, k) => tensor && html`<${Vector} key=${k}
      pass=${pass} at=${tensor} row=${at} title=${strings.tour.vectors[k]} from=${from}
      columns=${columns} />`)}`;
}

/** @param {Props} props */
function Scores({ pass }) {
  const attention = firstAttention(pass);
  const at = followed(pass);
  const keys = attention ? [...Array(Math.min(attention.s, 10)).keys()] : [];
  const found = useResource(attention ? `scores ${pass.id} ${at}` : null, (signal) =>
    Promise.all(
      keys.map((key) =>
        post(
          "/api/explain",
          {
            pass: pass.id,
            largest: 1,
            element: {
              kind: "score",
              step: attention?.step ?? 0,
              head: 0,
              query: at,
              key,
            },
          },
          signal,
        ),
      ),
    ),
  );
  return html`
    <${Formula}>${[
      row(
        sub(i("s"), row(i("i"), i("j"))),
        o("="),
        frac(row(sub(i("q"), i("i")), o("·"), sub(i("k"), i("j"))), root(sub(i("d"), i("k")))),
      ),
    ]}<//>
    <${Words} pass=${pass} />
    <${Await} of=${found}>${(/** @type {import("../api.js").Explained[]} */ scores) => html`
      <table><caption>${strings.tour.scores(word(pass.source[at]))}</caption><tbody>
      ${scores.map(
        (
          one,
          key,
        ) => html`<tr key=${key}><th scope="row"><bdi>${word(pass.source[key])}</bdi></th>
        <td class="number"><${Value} value=${one.value} label=${word(pass.source[key])}
          place=${one.element} /></td></tr>`,
      )}</tbody></table>`}<//>`;
}

/** @param {Props} props */
function Softmax({ pass }) {
  const attention = firstAttention(pass);
  const at = followed(pass);
  const found = useResource(attention ? `weights ${pass.id} ${at}` : null, () =>
    attention
      ? loadWeights(pass, attention, 0, at, 1)
      : Promise.reject(new Error(strings.errors.nothing)),
  );
  return html`
    <${Formula}>${[
      row(
        sub(i("w"), row(i("i"), i("j"))),
        o("="),
        frac(
          sup(i("e"), sub(i("s"), row(i("i"), i("j")))),
          sum(i("k"), sup(i("e"), sub(i("s"), row(i("i"), i("k"))))),
        ),
      ),
      row(
        sub(i("z"), i("i")),
        o("="),
        sum(i("j"), row(sub(i("w"), row(i("i"), i("j"))), sub(i("v"), i("j")))),
      ),
    ]}<//>
    <${Words} pass=${pass} />
    <${Await} of=${found}>${(/** @type {Float32Array} */ weights) => html`
      <${Bars} label=${strings.attention.row(word(pass.source[at]))}
        bars=${[...weights].slice(0, 12).map((value, key) => ({
          key,
          text: pass.source[key]?.text ?? "",
          value,
          place: { kind: "weight", step: attention?.step ?? 0, head: 0, query: at, key },
        }))} />`}<//>`;
}

/** @param {Props} props */
const ManyHeads = ({ pass }) => html`
  <${Formula}>${[
    row(
      f("MultiHead"),
      o("="),
      o("["),
      sub(i("z"), n(1)),
      o(";"),
      o("…"),
      o(";"),
      sub(i("z"), i("h")),
      o("]"),
      sub(i("W"), i("O")),
    ),
  ]}<//>
  <${Heads} pass=${pass} only="encoder" />`;

/** @param {Props} props */
const Layer = ({ pass }) => html`
  <${Formula}>${[
    row(i("y"), o("="), f("LayerNorm"), paren(i("x"), o("+"), f("Attention"), paren(i("x")))),
    row(
      f("FFN"),
      paren(i("y")),
      o("="),
      f("ReLU"),
      paren(i("y"), sub(i("W"), n(1)), o("+"), sub(i("b"), n(1))),
      sub(i("W"), n(2)),
      o("+"),
      sub(i("b"), n(2)),
    ),
  ]}<//>
  <${Words} pass=${pass} />
  <${Stages} pass=${pass} titles=${[
    strings.path.sum,
    ...[...Array(12).keys()].map((layer) => strings.path.after(layer)),
  ]} />`;

/** @param {Props} props */
const Decoder = ({ pass }) => html`
  <${Formula}>${[
    row(i("Q"), o("="), sub(i("y"), f("decoder")), sub(i("W"), i("Q"))),
    row(i("K"), o("="), sub(i("x"), f("encoder")), sub(i("W"), i("K"))),
    row(i("V"), o("="), sub(i("x"), f("encoder")), sub(i("W"), i("V"))),
  ]}<//>
  <${Translated} pass=${pass} />`;

/** @param {Props} props */
function Output({ pass }) {
  const { token, side } = selection.value;
  const at = side === "target" && token >= 0 ? token : 0;
  const one = pass.predictions.find((each) => each.row === at) ?? pass.predictions[0];
  return html`
    <${Formula}>${[
      row(
        sub(i("p"), i("i")),
        o("="),
        frac(sup(i("e"), sub(i("z"), i("i"))), sum(i("j"), sup(i("e"), sub(i("z"), i("j"))))),
      ),
      row(i("z"), o("="), i("y"), sup(i("E"), f("T"))),
    ]}<//>
    <${Tokens} tokens=${pass.output ?? []} side="target" label=${strings.sentence.output}
      selected=${at}
      onSelect=${(/** @type {number} */ index) => select({ token: index, side: "target" })} />
    ${
      one &&
      html`<${Bars} label=${strings.tour.words} bars=${one.top.map((each) => ({
        key: each.id,
        text: visible(each.text),
        value: each.probability,
        chosen: each.id === one.chosen?.id,
        place: pass.logits ? { kind: "probability", row: one.row, id: each.id } : null,
      }))} /><p class="small soft">${
        one.chosen
          ? strings.tour.taken(visible(one.chosen.text), percent(one.chosen.probability))
          : ""
      }</p>`
    }`;
}

export const stations = [
  Letters,
  Embedding,
  Position,
  Projections,
  Scores,
  Softmax,
  ManyHeads,
  Layer,
  Decoder,
  Output,
];
