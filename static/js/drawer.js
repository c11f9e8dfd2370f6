/** The list of sessions as a drawer, where the screen is too narrow to show it beside the timeline. */

export function drawer() {
  const root = document.documentElement;
  const button = document.getElementById("menu");
  const set = (open) => {
    root.classList.toggle("drawer-open", open);
    button.setAttribute("aria-expanded", String(open));
  };
  const close = () => set(false);
  button.addEventListener("click", () => set(!root.classList.contains("drawer-open")));
  document.getElementById("scrim").addEventListener("click", close);
  addEventListener("keydown", (event) => event.key === "Escape" && close());
  return { close };
}
