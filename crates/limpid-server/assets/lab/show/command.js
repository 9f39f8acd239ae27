// The command that gives the same in a terminal.
import { html, useState } from "../ui.js";
import { strings } from "../strings.js";

/** @param {{ text: string }} props */
export function Command({ text }) {
  const [copied, setCopied] = useState(false);
  if (!text) return null;
  const copy = () => navigator.clipboard.writeText(text).then(() => {
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  }, () => {});
  return html`<div class="command"><span class="small soft">${strings.command.same}</span>
    <code>${text}</code>
    <button type="button" class="quiet small" onClick=${copy}>
      ${copied ? strings.command.copied : strings.command.copy}</button></div>`;
}
