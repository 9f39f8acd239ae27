// Ablation: does this head matter? Heads are switched off, and the text is generated again.
import { html, useEffect, useRef, useState } from "../ui.js";
import { percent, short, signed } from "../format.js";
import { Await, Failure } from "../show/await.js";
import { heat, inkOn } from "../show/colours.js";
import { visible, word } from "../show/token.js";
import { lines, post } from "../state/api.js";
import { placeOf, placesOf } from "../state/attention.js";
import { loadPass, model, passRequest, usePass } from "../state/lab.js";
import { useResource } from "../state/resource.js";
import { extra, setExtra } from "../state/selection.js";
import { Typed } from "../shell/sentence-bar.js";
import { strings } from "../strings.js";

/**
 * @typedef {import("../api.js").Pass} Pass
 * @typedef {import("../api.js").Ablation} Ablation
 * @typedef {{ attention: string, layer: number, head: number, delta: number }} Effect
 */

const HOW = /** @type {const} */ (["zero", "mean", "patch"]);

/** The heads that are off, as "name:layer:head". */
const switchedOff = () => extra("off").split(",").filter(Boolean);

export function View() {
  const pass = usePass();
  return html`<${Await} of=${pass} shape="tall">${(/** @type {Pass} */ found) => html`
    <${Switches} pass=${found} /><${Outcome} pass=${found} />`}<//>`;
}

/** @param {{ pass: Pass }} props */
function Switches({ pass }) {
  const off = switchedOff();
  const how = extra("how", "zero");
  const [effects, setEffects] = useState(/** @type {Map<string, Effect>} */ (new Map()));
  const [running, setRunning] = useState(false);
  const [failed, setFailed] = useState(/** @type {Error | null} */ (null));
  const stop = useRef(/** @type {AbortController | null} */ (null));
  useEffect(() => {
    setEffects(new Map());
    return () => stop.current?.abort();
  }, [pass.id, how]);
  const toggle = (/** @type {string} */ key) =>
    setExtra({
      off: (off.includes(key) ? off.filter((one) => one !== key) : [...off, key]).join(","),
    });
  const tryAll = async () => {
    const abort = new AbortController();
    stop.current = abort;
    setRunning(true);
    setFailed(null);
    try {
      const body = { pass: pass.id, how: how === "patch" ? "zero" : how };
      for await (const line of lines("/api/ablate/all", {
        method: "POST",
        body,
        signal: abort.signal,
      })) {
        const one = JSON.parse(line);
        if (one.error) throw new Error(one.error.message);
        if (one.done) break;
        setEffects((before) =>
          new Map(before).set(`${one.attention}:${one.layer}:${one.head}`, one),
        );
      }
    } catch (error) {
      if (!abort.signal.aborted) setFailed(/** @type {Error} */ (error));
    } finally {
      setRunning(false);
    }
  };
  const largest = Math.max(1e-9, ...[...effects.values()].map((one) => Math.abs(one.delta)));
  const total = pass.attentions.reduce((sum, one) => sum + one.heads, 0);
  return html`<section class="stack tight">
    <div class="row">
      <span>${strings.ablation.how}</span>
      ${HOW.map(
        (one) => html`<button key=${one} aria-pressed=${how === one ? "true" : "false"}
        title=${strings.ablation.howHelp[one]}
        onClick=${() => setExtra({ how: one })}>${strings.ablation.hows[one]}</button>`,
      )}
      <span class="spread"></span>
      ${
        running
          ? html`<button onClick=${() => stop.current?.abort()}>${strings.ablation.stop}</button>`
          : html`<button onClick=${tryAll}>${strings.ablation.all}</button>`
      }
      ${
        off.length > 0 &&
        html`<button onClick=${() => setExtra({ off: "" })}>
        ${strings.ablation.allOn}</button>`
      }
    </div>
    ${
      how === "patch" &&
      html`<${Typed} value=${extra("patch")} label=${strings.ablation.from}
      placeholder=${model.value?.example ?? ""}
      onText=${(/** @type {string} */ from) => setExtra({ patch: from })} />`
    }
    <p class="small soft" role="status">${
      effects.size > 0 ? strings.ablation.effects(effects.size, total) : strings.ablation.help
    }</p>
    ${failed && html`<${Failure} error=${failed} retry=${tryAll} />`}
    <div class="switch-places">${placesOf(pass).map(
      (place) => html`<section key=${place}>
      <h2 class="minor">${strings.attention.places[
        /** @type {keyof typeof strings.attention.places} */ (place)]}</h2>
      <div class="scroll"><div class="switches">
      ${pass.attentions
        .filter((one) => placeOf(one) === place)
        .map(
          (one) => html`
        <div class="head-row" key=${one.index} role="group"
          aria-label=${strings.attention.layer(one.layer)}>
          <span class="small soft">${strings.attention.layer(one.layer)}</span>
          ${[...Array(one.heads).keys()].map((head) => {
            const key = `${one.name}:${one.layer}:${head}`;
            const effect = effects.get(key);
            const share = effect ? Math.abs(effect.delta) / largest : 0;
            const out = off.includes(key);
            return html`<button key=${head} class=${`switch${out ? " off" : ""}`} role="switch"
              aria-checked=${out ? "false" : "true"}
              style=${
                effect && !out
                  ? {
                      background: heat(share),
                      color: inkOn(share),
                    }
                  : undefined
              }
              title=${effect ? strings.ablation.effect(signed(effect.delta)) : undefined}
              aria-label=${strings.ablation.head(
                place,
                one.layer,
                head,
                effect ? signed(effect.delta) : "",
              )}
              onClick=${() => toggle(key)}>${effect ? signed(effect.delta) : head}</button>`;
          })}
        </div>`,
        )}</div></div></section>`,
    )}</div>
  </section>`;
}

/** What the model says without them. @param {{ pass: Pass }} props */
function Outcome({ pass }) {
  const off = switchedOff();
  const how = extra("how", "zero");
  const from = extra("patch");
  const base = passRequest.value;
  const waiting = how === "patch" && from === "";
  const key =
    off.length > 0 && base && !waiting
      ? `ablate ${JSON.stringify([base, off, how, from])}`
      : null;
  const found = useResource(key, async (signal) => {
    const other = how === "patch" ? await loadPass({ model: pass.model, text: from }) : null;
    const edits = off.map((one) => {
      const [attention = "", layer, head] = one.split(":");
      return {
        kind: "head",
        attention,
        layer: Number(layer),
        head: Number(head),
        how,
        ...(other ? { from: other.id } : {}),
      };
    });
    return post("/api/ablate", { ...base, edits }, signal);
  });
  if (key === null) {
    return html`<p class="note">${
      waiting && off.length > 0 ? strings.ablation.needFrom : strings.ablation.none
    }</p>`;
  }
  return html`<${Await} of=${found} shape="tall">${(/** @type {Ablation} */ one) => {
    const largest = Math.max(...one.rows.map((row) => Math.abs(row.delta)), 0.1);
    return html`
      <section class="two-texts">
        <div><h2 class="minor">${strings.ablation.before}</h2><p class="text">
          <bdi>${visible(one.text_before)}</bdi></p></div>
        <div><h2 class="minor">${strings.ablation.after(off.length)}</h2>
          <p class=${`text${one.text_after === one.text_before ? "" : " changed"}`}>
            <bdi>${visible(one.text_after)}</bdi></p></div>
      </section>
      <p role="status">${
        one.text_after === one.text_before ? strings.ablation.same : strings.ablation.different
      } ${strings.ablation.total(signed(one.delta))}</p>
      <section class="stack tight"><h2>${strings.ablation.tokens}</h2>
        <div class="scroll" tabindex="0" role="region" aria-label=${strings.ablation.tokens}>
        <table class="full"><thead><tr><th>${strings.why.tokenHead}</th>
          <th class="number">${strings.ablation.p}</th><th
            class="number">${strings.ablation.pOff}</th>
          <th class="number">${strings.ablation.delta}</th><th aria-hidden="true"></th></tr></thead>
          <tbody>${one.rows.slice(0, 200).map(
            (row) => html`<tr key=${row.row}>
            <td><bdi>${word(row.token)}</bdi></td>
            <td class="number">${percent(Math.exp(row.before))}</td>
            <td class="number">${percent(Math.exp(row.after))}</td>
            <td class="number">${signed(row.delta)}</td>
            <td class="delta"><span class=${row.delta < 0 ? "less" : "more"} style=${{
              width: `${(Math.abs(row.delta) / largest) * 50}%`,
            }}></span></td>
          </tr>`,
          )}</tbody></table></div>
        <p class="small soft">${strings.ablation.kl(short(one.kl.reduce((a, b) => a + b, 0)))}</p>
      </section>`;
  }}<//>`;
}
