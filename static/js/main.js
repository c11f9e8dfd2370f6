/** Starts the page of a session (or of a new one). */

import { App } from "./app.js";
import "./elements/message-composer.js";
import "./elements/page-header.js";
import "./elements/session-list.js";
import "./elements/session-timeline.js";
import "./elements/window-bar.js";
import { drawer } from "./drawer.js";
import { themeSwitch } from "./theme.js";

const app = new App(JSON.parse(document.getElementById("page-data").textContent));

for (const part of document.querySelectorAll("page-header, window-bar, session-list, session-timeline, message-composer")) {
  part.connect(app);
}
themeSwitch(document.getElementById("theme"));
const side = drawer();

async function open(id) {
  side.close();
  try {
    await app.open(id);
  } catch {
    // the page itself can say what is wrong with that address
    location.assign(app.address(id));
  }
}

document.addEventListener("nomos:open", ({ detail }) => open(detail));
document.getElementById("new-session").addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  open(null);
});
document.addEventListener("nomos:signed-out", () => (document.getElementById("signed-out").hidden = false));
app.addEventListener("change", ({ detail }) => {
  if (detail.has("connection") && app.status.reason === "signed_out") document.getElementById("signed-out").hidden = false;
});
app.start();
