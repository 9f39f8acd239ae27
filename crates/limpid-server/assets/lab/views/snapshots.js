// Watch attention being born: one sentence through the snapshots of a run, step by step.
import { html, useEffect, useState } from "../ui.js";
import { count } from "../format.js";
import { Await } from "../show/await.js";
import { Thumbnail } from "../show/thumbnail.js";
import { visible } from "../show/token.js";
import { loadPass, model } from "../state/lab.js";
import { placeOf } from "../state/attention.js";
import { useResource } from "../state/resource.js";
import { extra, setExtra } from "../state/selection.js";
import { useThumbnails } from "../state/thumbnails.js";
import { Typed } from "../shell/sentence-bar.js";
import { strings } from "../strings.js";
import { lab } from "../state/lab.js";

/** Milliseconds of a snapshot when they are played. */
const FRAME = 500;

/** @param {{ run: import("../api.js").Run }} props */
export function Snapshots({ run }) {
  const all = run.snapshots;
  const at = Math.min(all.length - 1, Number(extra("snapshot", String(all.length - 1))) || 0);
  const snapshot = all[at];
  const [playing, setPlaying] = useState(false);
  const example =
    lab.value?.models.find((one) => one.id === snapshot?.model)?.example ||
    model.value?.example ||
    "";
  const sentence = extra("scrub") || example;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setTimeout(() => {
      if (at + 1 >= all.length) setPlaying(false);
      else setExtra({ snapshot: String(at + 1) }, "replace");
    }, FRAME);
    return () => clearTimeout(timer);
  }, [playing, at, all.length]);
  useEffect(() => {
    // The next ones beforehand, so that scrubbing has no pauses.
    for (const next of all.slice(at + 1, at + 3)) {
      loadPass({ model: next.model, text: sentence }).catch(() => {});
    }
  }, [at, sentence, all.length]);
  if (!snapshot) return null;
  return html`<section class="stack tight"><h3>${strings.snapshots.title}</h3>
    <p class="soft">${strings.snapshots.help}</p>
    <${Typed} value=${sentence} label=${strings.snapshots.sentence}
      onText=${(/** @type {string} */ scrub) => setExtra({ scrub })} />
    <div class="row">
      <button onClick=${() => {
        if (!playing && at + 1 >= all.length) setExtra({ snapshot: "0" }, "replace");
        setPlaying(!playing);
      }}>${playing ? strings.snapshots.pause : strings.snapshots.play}</button>
      <label class="slider wide"><span>${strings.snapshots.step}</span>
        <input type="range" min="0" max=${all.length - 1} step="1" value=${at}
          aria-valuetext=${strings.snapshots.at(count(snapshot.step))}
          onInput=${(/** @type {Event} */ event) => {
            setPlaying(false);
            setExtra(
              { snapshot: /** @type {HTMLInputElement} */ (event.currentTarget).value },
              "glide",
            );
          }} /><output>${count(snapshot.step)}</output></label>
    </div>
    <${Frame} model=${snapshot.model} sentence=${sentence} />
  </section>`;
}

/** @param {{ model: string, sentence: string }} props */
export function Frame({ model, sentence }) {
  const request = { model, text: sentence };
  const found = useResource(sentence ? `pass ${JSON.stringify(request)}` : null, () =>
    loadPass(request),
  );
  const pass = found.value;
  const small = useThumbnails(pass?.id ?? null);
  return html`<${Await} of=${found} shape="tall">${(
    /** @type {import("../api.js").Pass} */ one,
  ) => {
    const shown = one.attentions.filter((each) => placeOf(each) === "cross");
    const list = shown.length > 0 ? shown : one.attentions;
    const top = one.predictions.at(-1)?.top[0];
    return html`<p class="text"><bdi>${visible(one.target ? one.text : (top?.text ?? ""))}</bdi></p>
      <div class="scroll"><div class="head-grid">${list.map(
        (each) => html`<div class="head-row" key=${each.index}>
        <span class="small soft">${strings.attention.layer(each.layer)}</span>
        ${[...Array(each.heads).keys()].map(
          (k) => html`<span class="head" key=${k}>
          <${Thumbnail} of=${small?.small.get(`${each.index}/${k}`)} /></span>`,
        )}
      </div>`,
      )}</div></div>
      ${list.length === 0 && html`<p class="small soft">${strings.snapshots.noAttention}</p>`}`;
  }}<//>`;
}
