// The sentence that all views look at. Typing is enough: there is nothing to press.
import { html, useEffect, useRef, useState } from "../ui.js";
import { chooseText, model, text } from "../state/lab.js";
import { select, selection } from "../state/selection.js";
import { strings } from "../strings.js";

/** Milliseconds without a key after which a sentence is read. */
const PAUSE = 350;

/**
 * A text field that waits for a pause.
 * @param {object} props
 * @param {string} props.value
 * @param {string} props.label
 * @param {string} [props.placeholder]
 * @param {string} [props.lang]
 * @param {(text: string) => void} props.onText
 */
export function Typed({ value, label, placeholder, lang, onText }) {
  const [typed, setTyped] = useState(value);
  const timer = useRef(0);
  useEffect(() => {
    setTyped(value);
    return () => clearTimeout(timer.current);
  }, [value]);
  const commit = (/** @type {string} */ next) => {
    clearTimeout(timer.current);
    if (next.trim() !== "" || value !== "") onText(next);
  };
  return html`<label class="typed"><span>${label}</span>
    <textarea rows="1" dir="auto" lang=${lang} spellcheck="false" autocomplete="off"
      maxlength="200000" value=${typed} placeholder=${placeholder}
      onInput=${(/** @type {InputEvent} */ event) => {
        const next = /** @type {HTMLTextAreaElement} */ (event.currentTarget).value;
        setTyped(next);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => commit(next), PAUSE);
      }}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        commit(typed);
      }}></textarea></label>`;
}

export function SentenceBar() {
  const one = model.value;
  if (!one || one.state !== "ready") return null;
  const [from, to] = one.languages ?? [undefined, undefined];
  const two = one.kind === "encoder-decoder" || one.kind === "recurrent";
  const ids = selection.value.target.startsWith("#");
  return html`<section class="sentence-bar" aria-label=${strings.shell.sentence}>
    <${Typed} value=${text.value} lang=${from} onText=${chooseText}
      label=${one.has_tokenizer ? strings.sentence.read(from) : strings.sentence.ids}
      placeholder=${one.example} />
    ${two && html`<${Typed} value=${ids ? "" : selection.value.target} lang=${to}
      label=${strings.sentence.target(to)}
      placeholder=${ids ? strings.sentence.chosen : strings.sentence.own}
      onText=${(/** @type {string} */ target) =>
        select({ target, token: -1, key: -1, step: 0, why: "" })} />`}
  </section>`;
}
