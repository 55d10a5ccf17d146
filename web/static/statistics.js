// The dialog with the statistics of games played by hand.
import { api } from "./api.js";
import { element } from "./dom.js";
import { capitalised, percent } from "./text.js";

/** Makes the button open the dialog with fresh numbers. */
export function setUpStatistics(open, dialog, host, reset) {
  const refresh = async () => host.replaceChildren(await table());
  open.addEventListener("click", async () => {
    await refresh();
    dialog.showModal();
  });
  reset.addEventListener("click", async () => {
    if (!window.confirm("Forget the statistics of all games?")) return;
    await api.resetStatistics();
    await refresh();
  });
}

async function table() {
  let modes;
  try {
    ({ modes } = await api.statistics());
  } catch (error) {
    return element("p", { className: "problem" }, error.message);
  }
  const played = Object.entries(modes).filter(([, mode]) => mode.games > 0);
  if (!played.length) return element("p", {}, "No game is over yet.");
  const titles = ["Mode", "Games", "Wins", "Streak", "Best streak", "Best time"];
  const head = element("tr", {}, ...titles.map((text) => element("th", { scope: "col" }, text)));
  const rows = played.map(([name, mode]) => {
    const best = mode.best_seconds === null ? "–" : `${mode.best_seconds.toFixed(1)} s`;
    const wins = `${mode.wins} (${percent(mode.wins / mode.games)})`;
    const cells = [mode.games, wins, mode.streak, mode.best_streak, best].map((text) => element("td", {}, String(text)));
    return element("tr", {}, element("th", { scope: "row" }, capitalised(name)), ...cells);
  });
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}
