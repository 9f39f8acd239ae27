// Masked word: what fits here? A word is clicked, and the model fills it in.
import { html } from "../ui.js";
import { Await } from "../show/await.js";
import { Bars } from "../show/bars.js";
import { Tokens, word } from "../show/token.js";
import { post, url } from "../state/api.js";
import { model, text } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { select, selection } from "../state/selection.js";
import { strings } from "../strings.js";

/** @typedef {import("../api.js").FillMask} FillMask */

export function View() {
  const id = model.value?.id ?? "";
  const tokens = useResource(text.value === "" ? null : `tokens ${id} ${text.value}`, (signal) =>
    post(url`/api/models/${id}/tokenize`, { text: text.value }, signal),
  );
  const list = /** @type {{ tokens: import("../api.js").Token[] } | undefined} */ (tokens.value);
  const hasMask = list?.tokens.some((one) => one.special && /mask/i.test(one.piece)) ?? false;
  const { token } = selection.value;
  const chosen =
    list && token >= 0 && token < list.tokens.length && !list.tokens[token]?.special ? token : -1;
  const body = {
    model: id,
    text: text.value,
    top: 12,
    ...(chosen >= 0 ? { mask: [chosen] } : {}),
  };
  const found = useResource(
    list && !tokens.stale && (chosen >= 0 || hasMask) ? `fill ${JSON.stringify(body)}` : null,
    (signal) => post("/api/fill-mask", body, signal),
  );
  return html`<${Await} of=${tokens}>${() => html`
    <p class="soft">${strings.masked.help}</p>
    <${Tokens} tokens=${list?.tokens ?? []} side="source" selected=${chosen}
      label=${strings.sentence.source}
      onSelect=${(/** @type {number} */ index) => select({ token: index === chosen ? -1
        : index })} />
    ${
      chosen < 0 && !hasMask
        ? html`<p class="note">${strings.masked.none}</p>`
        : html`<${Await} of=${found} shape="tall">${(/** @type {FillMask} */ one) =>
            one.masks.map(
              (mask) => html`<${Mask} key=${mask.index} mask=${mask}
          instead=${word(list?.tokens[mask.index])} />`,
            )}<//>`
    }`}<//>`;
}

/** @param {{ mask: FillMask["masks"][number], instead: string }} props */
function Mask({ mask, instead }) {
  const best = mask.predictions[0];
  const missing = (mask.truth ?? []).filter(
    (one) => !mask.predictions.some((each) => each.text.trim() === one.text.trim()),
  );
  return html`<section class="stack tight">
    <h2>${strings.masked.at(mask.index, instead)}</h2>
    <p aria-live="polite">${best ? strings.masked.best(best.text.trim()) : ""}</p>
    <${Bars} label=${strings.masked.at(mask.index, instead)} bars=${[
      ...mask.predictions.map((one) => ({
        key: one.id,
        text: one.text,
        value: one.probability,
        truth: mask.truth ? (one.truth ?? 0) : null,
      })),
      ...missing.map((one) => ({
        key: `truth ${one.text}`,
        text: one.text,
        value: 0,
        truth: one.probability,
      })),
    ]} />
    <p class="small soft">${mask.truth ? strings.truth.help : (mask.truth_note ?? "")}</p>
  </section>`;
}
