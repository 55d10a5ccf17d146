// The form of a new game: mode, first click, seed and, where games are played by hand, no-guess boards.
import { element } from "./dom.js";
import { capitalised, counted } from "./text.js";

const FIRST_CLICKS = { any: "may be a mine", safe: "is safe", zero: "opens an area" };
const CUSTOM = "custom";

/** Name of the mode with this {rows, cols, mines}, or undefined. */
export function presetOf(config, { rows, cols, mines }) {
  const isSame = ([, mode]) => mode.rows === rows && mode.cols === cols && mode.mines === mines;
  return Object.entries(config.modes).find(isSame)?.[0];
}

export class GameForm {
  #radios = {};
  #numbers = {};

  /**
   * @param onStart called with the body of POST /api/games, and whether the player asked for a new game by the button
   *   (not just by choosing another mode)
   */
  constructor(form, config, saved, { name, hasNoGuess, onStart }) {
    this.config = config;
    this.onStart = onStart;
    const modes = element("div", { className: "segments", role: "radiogroup", "aria-label": "Mode" });
    for (const mode of [...Object.keys(config.modes), CUSTOM]) {
      const radio = element("input", { type: "radio", name: `${name}-mode`, value: mode });
      this.#radios[mode] = radio;
      modes.append(element("label", { title: this.#title(mode) }, radio, element("span", {}, capitalised(mode))));
    }
    this.custom = element("div", { className: "row fields" });
    for (const [key, label] of [["rows", "Rows"], ["cols", "Columns"], ["mines", "Mines"]]) {
      const most = config.limits[key] ?? config.limits.cells - 1;
      const input = element("input", { type: "number", min: key === "mines" ? 0 : 1, max: most, required: true, inputMode: "numeric" });
      this.#numbers[key] = input;
      this.custom.append(element("label", {}, element("span", {}, label), input));
    }
    this.firstClick = element(
      "select",
      {},
      ...config.first_clicks.map((value) => element("option", { value }, FIRST_CLICKS[value] ?? value)),
    );
    this.seed = element("input", { type: "number", min: 0, step: 1, placeholder: "random", inputMode: "numeric" });
    this.noGuess = element("input", { type: "checkbox" });
    const noGuess = element(
      "label",
      { className: "switch", title: "The board can be solved by proof alone from the first click" },
      this.noGuess,
      element("span", {}, "No guessing"),
    );
    const last = element("div", { className: "row spread" }, element("button", { className: "primary" }, "New game"));
    if (hasNoGuess) last.prepend(noGuess);
    form.append(
      modes,
      this.custom,
      element(
        "div",
        { className: "row fields" },
        element("label", {}, element("span", {}, "First click"), this.firstClick),
        element("label", {}, element("span", {}, "Seed"), this.seed),
      ),
      last,
    );
    this.fill(saved ?? {});
    modes.addEventListener("change", () => this.#chooseMode());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      onStart(this.values(), true);
    });
  }

  /** Sets the fields from the body of a request. */
  fill({ mode, first_click: firstClick, seed, no_guess: noGuess }) {
    const isSize = mode !== null && typeof mode === "object";
    const names = Object.keys(this.config.modes);
    const chosen = isSize ? (presetOf(this.config, mode) ?? CUSTOM) : names.includes(mode) ? mode : names[0];
    this.#radios[chosen].checked = true;
    const numbers = isSize ? mode : this.config.modes[chosen];
    for (const [key, input] of Object.entries(this.#numbers)) input.value = numbers[key];
    this.firstClick.value = this.config.first_clicks.includes(firstClick) ? firstClick : "safe";
    this.seed.value = seed ?? "";
    this.noGuess.checked = Boolean(noGuess);
    this.custom.hidden = chosen !== CUSTOM;
  }

  values() {
    const chosen = Object.keys(this.#radios).find((mode) => this.#radios[mode].checked);
    const numbers = Object.fromEntries(Object.entries(this.#numbers).map(([key, input]) => [key, Number(input.value)]));
    return {
      mode: chosen === CUSTOM ? numbers : chosen,
      first_click: this.firstClick.value,
      seed: this.seed.value === "" ? null : Number(this.seed.value),
      no_guess: this.noGuess.checked,
    };
  }

  #title(mode) {
    const numbers = this.config.modes[mode];
    return numbers ? `${numbers.rows} × ${numbers.cols}, ${counted(numbers.mines, "mine")}` : "Your own size";
  }

  #chooseMode() {
    const { mode } = this.values();
    this.custom.hidden = typeof mode !== "object";
    if (typeof mode === "object") this.#numbers.rows.focus();
    else this.onStart(this.values(), false);
  }
}
