/** What every page of a signed-in operator has: the drawer, the theme switch, the word when the sign-in is over. */

import { drawer } from "./drawer.js";
import { themeSwitch } from "./theme.js";

/** @param {App} app @returns {{close: () => void}} the drawer */
export function frame(app) {
  themeSwitch(document.getElementById("theme"));
  const signedOut = () => (document.getElementById("signed-out").hidden = false);
  document.addEventListener("nomos:signed-out", signedOut);
  app.addEventListener("change", ({ detail }) => detail.has("connection") && app.status.reason === "signed_out" && signedOut());
  return drawer();
}
