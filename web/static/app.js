// Starts the page: settings, theme, dialogs, and the tab that the address names.
import { Analyse } from "./analyse.js";
import { api } from "./api.js";
import { Compare } from "./compare.js";
import { isDark } from "./heatmap.js";
import { Play } from "./play.js";
import { keep, loadSettings, settings, setUpTheme } from "./settings.js";
import { setUpStatistics } from "./statistics.js";
import { Watch } from "./watch.js";

const TABS = { play: Play, watch: Watch, compare: Compare, analyse: Analyse };
const byId = (id) => document.getElementById(id);
const tabs = {}; // made when they are first shown

const app = {
  config: null,
  /** The position that a tab shows, or would show, or null. */
  async position(name) {
    await made(name).load?.();
    return tabs[name].position();
  },
  /** Goes to a tab with a position. */
  open(name, position) {
    history.pushState(null, "", `#${name}`);
    show(name, new URLSearchParams(), position);
  },
};

const made = (name) => (tabs[name] ??= new TABS[name](byId(name), app));

function show(name, parameters, position) {
  for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== name;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.tab === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const [other, tab] of Object.entries(tabs)) if (other !== name) tab.hide?.();
  document.title = `${name.charAt(0).toUpperCase()}${name.slice(1)} · Minesweeper lab`;
  if (settings.tab !== name) keep({ tab: name });
  return made(name).show(parameters, position);
}

function route() {
  const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
  const known = name in TABS ? name : settings.tab in TABS ? settings.tab : "play";
  return show(known, new URLSearchParams(query ?? ""));
}

function setUpDialogs() {
  setUpStatistics(byId("statistics-open"), byId("statistics"), byId("statistics-table"), byId("statistics-reset"));
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  const numbers = byId("numbers");
  numbers.checked = settings.numbers ?? true;
  const apply = () => document.body.classList.toggle("no-numbers", !numbers.checked);
  numbers.addEventListener("change", () => {
    keep({ numbers: numbers.checked });
    apply();
  });
  apply();
}

async function start() {
  addEventListener("server", ({ detail: { text, isProblem } }) => {
    const banner = byId("banner");
    banner.hidden = !text;
    banner.classList.toggle("is-problem", isProblem);
    if (banner.textContent !== text) banner.textContent = text;
  });
  setUpTheme(byId("theme"), isDark);
  [app.config] = await Promise.all([api.config(), loadSettings()]);
  setUpDialogs();
  addEventListener("hashchange", route);
  await route();
  document.body.dataset.ready = "true";
}

start().catch((error) => {
  byId("banner").hidden = false;
  byId("banner").classList.add("is-problem");
  byId("banner").textContent = error.message;
  throw error;
});
