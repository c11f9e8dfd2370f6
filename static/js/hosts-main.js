/** Starts the page of hosts. */

import { App } from "./app.js";
import "./elements/host-list.js";
import "./elements/page-connection.js";
import "./elements/session-list.js";
import { frame } from "./frame.js";

const app = new App(JSON.parse(document.getElementById("page-data").textContent));
for (const part of document.querySelectorAll("host-list, page-connection, session-list")) part.connect(app);
frame(app);
document.addEventListener("nomos:open", ({ detail }) => location.assign(app.address(detail)));
app.start();
