// Where the page begins.
import { html, render } from "./ui.js";
import { rememberTheme } from "./show/colours.js";
import { Shell } from "./shell/shell.js";
import { followEvents } from "./state/events.js";
import { followLab } from "./state/lab.js";
import { followAddress } from "./state/selection.js";
import { readToken } from "./state/token.js";

readToken();
rememberTheme();
followAddress();
followLab().then(followEvents);
const root = document.getElementById("app");
if (root) render(html`<${Shell} />`, root);
