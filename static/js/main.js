/** Starts the page of a session (or of a new one). */

import { App } from "./app.js";
import "./elements/message-composer.js";
import "./elements/page-connection.js";
import "./elements/page-header.js";
import "./elements/session-list.js";
import "./elements/session-timeline.js";
import "./elements/window-bar.js";
import { frame } from "./frame.js";

const PARTS = "page-header, page-connection, window-bar, session-list, session-timeline, message-composer";
const app = new App(JSON.parse(document.getElementById("page-data").textContent));
for (const part of document.querySelectorAll(PARTS)) part.connect(app);
const side = frame(app);

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
app.start();
