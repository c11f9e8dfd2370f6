/** The theme switch: auto, light or dark, kept in this browser. */

import { setIcon } from "./dom.js";

const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function themeSwitch(button) {
  const draw = () => {
    const theme = document.documentElement.dataset.theme ?? "auto";
    setIcon(button.querySelector("[data-part=icon]"), `theme-${theme}`);
    button.setAttribute("aria-label", `Theme: ${theme}. Switch to ${NEXT[theme]}.`);
    button.title = `Theme: ${theme}`;
  };
  button.addEventListener("click", () => {
    const theme = NEXT[document.documentElement.dataset.theme ?? "auto"];
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("nomos.theme", theme);
    } catch {
      // storage is off: the choice lasts for this page
    }
    draw();
  });
  draw();
}
