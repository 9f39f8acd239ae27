// The token of the process, which the address printed by the command carries in its fragment.
// It is kept for other tabs of this origin and taken out of the address, so that an address
// which is copied does not give access away.

const KEY = "limpid-lab-token";

/** @returns {string} */
function stored() {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

let token = "";

/** Takes the token from the address, or from an earlier visit. */
export function readToken() {
  const found = /[#&?]token=([A-Za-z0-9_-]+)/.exec(location.hash);
  token = found?.[1] ?? stored();
  if (!found) return;
  try {
    localStorage.setItem(KEY, token);
  } catch {
    // Without storage the token lives as long as the tab.
  }
  const rest = location.hash.replace(found[0], "").replace(/^[&?]/, "");
  const hash = rest.startsWith("#") || rest === "" ? rest : `#${rest}`;
  history.replaceState(null, "", location.pathname + location.search + hash);
}

/** The token that requests carry. */
export const currentToken = () => token;
