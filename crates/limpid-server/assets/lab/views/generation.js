// Generation: why this word. The distribution of each step, what sampling does with it, and what
// would have come with another word.
import { html, useMemo } from "../ui.js";
import { full, percent, short } from "../format.js";
import { Await } from "../show/await.js";
import { Bars } from "../show/bars.js";
import { Tokens, visible, word } from "../show/token.js";
import { floats, made, post, url } from "../state/api.js";
import { model, text } from "../state/lab.js";
import { spell } from "../state/numbers.js";
import { once, useResource } from "../state/resource.js";
import { distribution } from "../state/sampling.js";
import { extra, select, selection, setExtra } from "../state/selection.js";
import { strings } from "../strings.js";
import { Command } from "../show/command.js";

/** @typedef {import("../api.js").Generation} Generation */

const LISTED = 14;

/** The settings in the address. */
function settings() {
  const number = (/** @type {string} */ name, /** @type {number} */ otherwise) => {
    const value = Number(extra(name, String(otherwise)));
    return Number.isFinite(value) ? value : otherwise;
  };
  const greedy = model.value?.kind === "decoder" ? 1 : 0;
  return {
    temperature: Math.max(0, number("temperature", greedy)),
    topK: Math.max(0, number("top-k", 0)),
    topP: Math.min(1, Math.max(0.01, number("top-p", 1))),
    seed: Math.max(0, number("seed", 1)),
    length: Math.min(512, Math.max(1, number("length", 24))),
  };
}

/** @param {ReturnType<typeof settings>} from @param {number[]} prefix */
const request = (from, prefix) => ({
  model: model.value?.id,
  text: text.value,
  temperature: from.temperature,
  seed: from.seed,
  max_new_tokens: from.length,
  ...(from.topK > 0 ? { top_k: from.topK } : {}),
  ...(from.topP < 1 ? { top_p: from.topP } : {}),
  ...(prefix.length > 0 ? { prefix_ids: prefix } : {}),
});

export function View() {
  const chosen = settings();
  const prefix = extra("prefix")
    .split(",")
    .filter(Boolean)
    .map(Number)
    .filter((id) => Number.isSafeInteger(id) && id >= 0);
  const body = request(chosen, prefix);
  const key = text.value === "" ? null : `generate ${JSON.stringify(body)}`;
  const found = useResource(key, (signal) => made("/api/generate", body, signal));
  return html`<${Controls} chosen=${chosen} forced=${prefix.length > 0} />
    <${Await} of=${found} shape="tall">${(/** @type {Generation} */ one) =>
      html`<${Steps} found=${one} chosen=${chosen} />`}<//>`;
}

/** @param {{ chosen: ReturnType<typeof settings>, forced: boolean }} props */
function Controls({ chosen, forced }) {
  const value = (/** @type {Event} */ event) =>
    /** @type {HTMLInputElement} */ (event.currentTarget).value;
  const slider = (
    /** @type {string} */ name,
    /** @type {number} */ now,
    /** @type {string} */ shown,
    /** @type {Record<string, number>} */ range,
  ) => html`<label class="slider">
      <span>${strings.generation[/** @type {"temperature"} */ (name)]}</span>
      <input type="range" ...${range} value=${now} aria-valuetext=${shown}
        onInput=${(/** @type {Event} */ event) => setExtra({ [name]: value(event) }, "glide")} />
      <output>${shown}</output></label>`;
  return html`<form class="controls"
    onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${slider(
      "temperature",
      chosen.temperature,
      chosen.temperature === 0 ? strings.generation.greedy : chosen.temperature.toFixed(2),
      { min: 0, max: 3, step: 0.05 },
    )}
    ${slider(
      "top-k",
      chosen.topK,
      chosen.topK === 0 ? strings.generation.off : String(chosen.topK),
      { min: 0, max: 50, step: 1 },
    )}
    ${slider(
      "top-p",
      chosen.topP,
      chosen.topP === 1 ? strings.generation.off : chosen.topP.toFixed(2),
      { min: 0.05, max: 1, step: 0.01 },
    )}
    <label>${strings.generation.seed} <input type="number" min="0" max="999999" value=${chosen.seed}
      onChange=${(/** @type {Event} */ event) => setExtra({ seed: value(event) })} /></label>
    <label>${strings.generation.length} <input type="number" min="1" max="512"
      value=${chosen.length}
      onChange=${(/** @type {Event} */ event) => setExtra({ length: value(event) })} /></label>
    <button type="button" onClick=${() => setExtra({ seed: String(chosen.seed + 1) })}>
      ${strings.generation.another}</button>
    ${
      forced &&
      html`<button type="button" onClick=${() => setExtra({ prefix: "" })}>
      ${strings.generation.release}</button>`
    }
  </form>`;
}

/** @param {{ found: Generation, chosen: ReturnType<typeof settings> }} props */
function Steps({ found, chosen }) {
  const tokens = [...found.prefix, ...found.steps.map((one) => one.chosen)];
  const at = Math.min(Math.max(0, selection.value.step), tokens.length - 1);
  const decoder = model.value?.kind === "decoder";
  return html`
    <section class="stack tight written">
      <p class="small soft">${decoder ? strings.generation.continued
        : strings.generation.translated}</p>
      <p class="text">${decoder && html`<bdi class="soft">${visible(text.value)}</bdi> `}
        <strong><bdi>${visible(found.text)}</bdi></strong></p>
      <${Tokens} tokens=${tokens} side="step" selected=${at}
        label=${strings.generation.steps} onSelect=${(/** @type {number} */ index) =>
          select({ step: index })} />
      <div class="row">
        <button disabled=${at <= 0} onClick=${() => select({ step: at - 1 }, "glide")}>
          ${strings.generation.back}</button>
        <button disabled=${at >= tokens.length - 1}
          onClick=${() => select({ step: at + 1 }, "glide")}>${strings.generation.forward}</button>
        <span class="small soft">${strings.generation.stepOf(at + 1, tokens.length)}${" "}
          ${found.finish === "stop" ? strings.generation.stopped : strings.generation.cut}</span>
      </div>
    </section>
    ${at >= 0 && html`<${Step} found=${found} token=${tokens[at]} at=${at} chosen=${chosen} />`}
    <${Command} text=${found.command} />`;
}

/**
 * The logits of a step, which the engine keeps with the generation.
 * @param {Generation} found
 * @param {number} at
 */
function logitsOf(found, at) {
  const path = `${url`/api/generations/${found.id}/logits`}?step=${at}`;
  return once(path, (signal) => floats(path, signal));
}

/**
 * The exact probability of a token: the grammar knows words, which most often are tokens.
 * @param {NonNullable<import("../api.js").GenStep["truth"]>} truth
 * @param {number} id
 * @param {string} text
 */
const truthOf = (truth, id, text) =>
  truth.find((one) => (one.id == null ? one.text === text.trim() : one.id === id))
    ?.probability ?? 0;

/**
 * The distribution of a step, filtered again here as the sliders move.
 * @param {{ found: Generation, token: import("../api.js").Token, at: number,
 *   chosen: ReturnType<typeof settings> }} props
 */
function Step({ found, token, at, chosen }) {
  const step = found.steps[at - found.prefix.length];
  const row = model.value?.kind === "decoder" ? found.prompt.length - 1 + at : at;
  const logits = useResource(`logits ${found.id} ${at}`, () => logitsOf(found, at));
  const here = logits.value;
  const { temperature, topK, topP } = chosen;
  const now = useMemo(
    () => here && distribution(here, { temperature, topK, topP }, LISTED),
    [here, temperature, topK, topP],
  );
  const ids = now?.listed.map((one) => one.id) ?? [];
  const names = useResource(ids.length > 0 ? `names ${found.model} ${ids}` : null, (signal) =>
    post(url`/api/models/${found.model}/tokens`, { ids }, signal),
  );
  const tokens = /** @type {{ tokens: import("../api.js").Token[] } | undefined} */ (names.value);
  const name = (/** @type {number} */ id) =>
    tokens?.tokens.find((one) => one.id === id)?.text ??
    step?.top.find((one) => one.id === id)?.text ?? "…";
  const open = (/** @type {number} */ id) => {
    const before = found.ids.slice(0, at);
    select({
      target: before.length > 0 ? `#${before}` : "", why: spell({ kind: "probability", row, id }),
    });
  };
  const force = (/** @type {number} */ id) => {
    setExtra({ prefix: [...found.ids.slice(0, at), id].join(",") });
    select({ step: at }, "replace");
  };
  const truth = step?.truth;
  return html`<section class="stack tight">
    <h2>${strings.generation.choice(at + 1)}</h2>
    <p class="soft">${!step ? strings.generation.forced(word(token))
      : step.u == null ? strings.generation.argmax
        : strings.generation.sampled(full(step.u), word(token))}</p>
    <${Await} of=${logits} shape="tall">${() => now && html`
      <${Bars} label=${strings.generation.choice(at + 1)}
        onChoose=${(/** @type {{ key: number }} */ bar) => force(bar.key)}
        chooseLabel=${(/** @type {{ text: string }} */ bar) =>
          strings.generation.force(visible(bar.text))}
        bars=${now.listed.map((one) => ({
          key: one.id, text: name(one.id), value: one.filtered, cut: one.filtered === 0,
          chosen: one.id === token.id,
          truth: truth ? truthOf(truth, one.id, name(one.id)) : null,
        }))} />
      <p class="small soft">${strings.generation.kept(now.kept, now.order.length,
        short(now.entropy))} ${truth ? strings.truth.help : ""}</p>
      <div class="row small">
        <button onClick=${() => open(token.id)}>${strings.generation.why(word(token))}</button>
        <span class="soft">${strings.generation.before(percent(now.model[token.id] ?? 0))}</span>
      </div>`}<//>
  </section>`;
}
