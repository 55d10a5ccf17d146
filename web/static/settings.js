// The page's settings, kept by the server; and the theme.
import { api } from "./api.js";

export const settings = {};

const PAUSE_MS = 300; // between two savings

let isSaved = true;
let pause = null;

function saveNow() {
  if (isSaved) return;
  isSaved = true;
  api.saveSettings(settings).catch(() => (isSaved = false));
}

/** Saves now, since the page may be closed next, and what changes meanwhile after a pause. */
function save() {
  if (pause !== null) return;
  saveNow();
  pause = setTimeout(() => {
    pause = null;
    saveNow();
  }, PAUSE_MS);
}

addEventListener("pagehide", saveNow);

export async function loadSettings() {
  Object.assign(settings, await api.settings().catch(() => ({})));
}

/** Changes some settings and saves all. */
export function keep(changes) {
  Object.assign(settings, changes);
  isSaved = false;
  save();
}

/** Makes the button switch between dark and light; the choice stays in the browser, since it is needed at once. */
export function setUpTheme(button, isDark) {
  const label = () => {
    button.firstElementChild.className = `icon ${isDark() ? "sun" : "moon"}`;
    button.setAttribute("aria-label", isDark() ? "Light theme" : "Dark theme");
  };
  button.addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    localStorage.setItem("theme", theme);
    label();
    dispatchEvent(new Event("theme"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    label();
    dispatchEvent(new Event("theme"));
  });
  label();
}
