// All heads in small, by place and layer: one click opens one of them.
import { html, useEffect, useState } from "../ui.js";
import { Failure } from "../show/await.js";
import { Thumbnail } from "../show/thumbnail.js";
import { placeOf, placesOf } from "../state/attention.js";
import { loadRoles } from "../state/lab.js";
import { select, selection } from "../state/selection.js";
import { useThumbnails } from "../state/thumbnails.js";
import { strings } from "../strings.js";

/** @typedef {import("../api.js").Pass} Pass */

/** What each head does, once it is known. @param {Pass} pass */
export function useRoles(pass) {
  const [roles, setRoles] = useState(
    /** @type {Map<string, import("../api.js").HeadRole>} */ (new Map()),
  );
  useEffect(() => {
    let wanted = true;
    loadRoles(pass.id).then(
      ({ heads }) => {
        if (wanted) setRoles(new Map(heads.map((one) => [`${one.attention}/${one.head}`, one])));
      },
      () => {},
    );
    return () => {
      wanted = false;
    };
  }, [pass.id]);
  return roles;
}

/** @param {{ pass: Pass, only?: string }} props */
export function Heads({ pass, only }) {
  const small = useThumbnails(pass.id);
  const roles = useRoles(pass);
  const { place, layer, head, view } = selection.value;
  if (small?.error.value) return html`<${Failure} error=${small.error.value} />`;
  const inView = view === "attention";
  return html`<div class="heads">${placesOf(pass)
    .filter((one) => !only || one === only)
    .map(
      (where) => html`<section key=${where}>
      ${
        !only &&
        html`<h3>${
          strings.attention.places[/** @type {keyof typeof strings.attention.places} */ (where)]
        }</h3>`
      }
      <div class="scroll"><div class="head-grid">
        ${pass.attentions
          .filter((one) => placeOf(one) === where)
          .map(
            (attention) => html`
          <div class="head-row" key=${attention.index} role="group"
            aria-label=${strings.attention.layer(attention.layer)}>
            <span class="small soft">${strings.attention.layer(attention.layer)}</span>
            ${[...Array(attention.heads).keys()].map((k) => {
              const role = roles.get(`${attention.index}/${k}`);
              const told = role
                ? strings.roles[/** @type {keyof typeof strings.roles} */ (role.role)]
                : undefined;
              const short = role
                ? strings.rolesShort[/** @type {keyof typeof strings.rolesShort} */ (role.role)]
                : "";
              return html`<button type="button" key=${k} class="head"
                title=${told}
                aria-pressed=${
                  inView && where === (place || where) && attention.layer === layer && k === head
                    ? "true"
                    : "false"
                }
                aria-label=${strings.attention.headLabel(
                  where, attention.layer, k, told ?? "", short)}
                onClick=${() => select({ view: "attention", place: where, layer: attention.layer,
                  head: k })}>
                <${Thumbnail} of=${small?.small.get(`${attention.index}/${k}`)} />
                <span class="role">${short}</span></button>`;
            })}</div>`,
          )}
      </div></div></section>`,
    )}</div>`;
}
