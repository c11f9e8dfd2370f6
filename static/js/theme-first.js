// Runs before the first paint, so that a chosen theme does not flash the other one.
try {
  document.documentElement.dataset.theme = localStorage.getItem("nomos.theme") || "auto";
} catch {
  document.documentElement.dataset.theme = "auto";
}
