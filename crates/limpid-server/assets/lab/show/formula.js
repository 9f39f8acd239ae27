// Formulas as MathML, built from parts.
import { html } from "../ui.js";

/**
 * Formulas beside each other, as far as the line goes; or one within a sentence.
 * @param {{ children?: any, inline?: boolean }} props
 */
export const Formula = ({ children, inline }) =>
  inline ? html`<math class="formula">${children}</math>`
    : html`<div class="formulas">${[children].flat().map((one) =>
        html`<math display="block" class="formula">${one}</math>`)}</div>`;

/** @param {string} name */
export const i = (name) => html`<mi>${name}</mi>`;
/** An upright name, of a function say. @param {string} name */
export const f = (name) => html`<mi mathvariant="normal">${name}</mi>`;
/** @param {string | number} value */
export const n = (value) => html`<mn>${value}</mn>`;
/** @param {string} sign */
export const o = (sign) => html`<mo>${sign}</mo>`;
/** @param {...any} parts */
export const row = (...parts) => html`<mrow>${parts}</mrow>`;
/** @param {any} base @param {any} below */
export const sub = (base, below) => html`<msub>${base}${below}</msub>`;
/** @param {any} base @param {any} above */
export const sup = (base, above) => html`<msup>${base}${above}</msup>`;
/** @param {any} top @param {any} bottom */
export const frac = (top, bottom) => html`<mfrac>${top}${bottom}</mfrac>`;
/** @param {any} inner */
export const root = (inner) => html`<msqrt>${inner}</msqrt>`;
/** @param {any} below @param {any} inner */
export const sum = (below, inner) =>
  html`<mrow><munder><mo>∑</mo>${below}</munder>${inner}</mrow>`;
/** @param {...any} inner */
export const paren = (...inner) => html`<mrow><mo>(</mo>${inner}<mo>)</mo></mrow>`;
/** @param {string} text */
export const words = (text) => html`<mtext>${text}</mtext>`;
