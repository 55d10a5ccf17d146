// The board of every tab: a grid of buttons that redraws only the cells that changed.
import { element } from "./dom.js";
import { FIRST, capitalised, cellName, percent, shortPercent, signedPercent } from "./text.js";

const LONG_PRESS_MS = 420;
const SMALL_PX = 24; // below this a cell has no room for a percentage
const LIMITS = ["--least", "--most", "--beside", "--above"];
const LARGE = 1000; // cells; rows out of sight of a larger board are not laid out
const WORDS = { ".": "hidden", F: "flag", "*": "mine", X: "the mine that was opened", "!": "wrong flag", 0: "empty" };
const PROOFS = { s: ", proved safe", m: ", proved a mine" };
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-8, 0], PageDown: [8, 0] };

const shown = (value) => (value === null || value === undefined ? null : Math.round(value * 1000)); // what can be seen of it
const EMPTY = new Uint8Array(0);

export class Board {
  rows = 0;
  cols = 0;
  view = ""; // one character a cell, row by row
  cells = [];
  #values = []; // number or null a cell
  #proved = "";
  #isFrontier = EMPTY; // 1 beside a number
  #paintOf = null;
  #isSigned = false;
  #indexOf = new Map();
  #marks = new Map();
  #focused = 0;
  #tipIndex = 0;

  /**
   * @param host element that becomes the scrolling frame of the board
   * @param actions open(cell, character), flag(cell, character), key(cell, key), press(isDown), hover(cell or null);
   *   all may be missing
   */
  constructor(host, label, actions = {}) {
    this.actions = actions;
    this.host = host;
    host.classList.add("board");
    this.grid = element("div", { className: "grid", role: "grid", "aria-label": label });
    this.tip = element("div", { className: "tip", hidden: true, "aria-hidden": "true" });
    host.append(this.grid);
    document.body.append(this.tip); // outside the frame, which would cut it off
    this.#listen();
    new ResizeObserver(() => this.#fit()).observe(host.parentElement);
    addEventListener("resize", () => this.#fit());
  }

  /** Shows a view (rows joined by line breaks) and, if given, a heat map {values, proved, paint, isSigned}. */
  show(view, heat = null) {
    const lines = view.split("\n");
    if (lines.length !== this.rows || lines[0].length !== this.cols) this.#build(lines.length, lines[0].length);
    const before = { view: this.view, values: this.#values, proved: this.#proved, paintOf: this.#paintOf, isFrontier: this.#isFrontier };
    this.view = lines.join("");
    this.#values = heat ? heat.values.flat() : [];
    this.#proved = heat?.proved?.join("") ?? "";
    this.#paintOf = heat?.paint ?? null;
    this.#isSigned = heat?.isSigned ?? false;
    const isFrontier = heat ? this.#frontier() : EMPTY;
    this.#isFrontier = isFrontier;
    const isRepainted = before.paintOf !== this.#paintOf;
    let changed = 0;
    for (let index = 0; index < this.cells.length; index++) {
      if (
        before.view[index] !== this.view[index] ||
        shown(before.values[index]) !== shown(this.#values[index]) ||
        before.proved[index] !== this.#proved[index] ||
        before.isFrontier[index] !== isFrontier[index] ||
        (isRepainted && (this.#values[index] ?? null) !== null)
      ) {
        this.#paint(index);
        changed++;
      }
    }
    if (!this.tip.hidden) this.#showTip(this.#tipIndex);
    return changed;
  }

  /** Marks exactly these cells with a class: is-best, is-last, is-fault or is-linked. */
  mark(name, cells = []) {
    for (const index of this.#marks.get(name) ?? []) this.cells[index]?.classList.remove(name);
    const marked = cells.map((cell) => this.index(cell));
    for (const index of marked) this.cells[index]?.classList.add(name);
    this.#marks.set(name, marked);
  }

  index([row, col]) {
    return row * this.cols + col;
  }

  cell(index) {
    return [Math.floor(index / this.cols), index % this.cols];
  }

  at(cell) {
    return this.view[this.index(cell)];
  }

  neighbours([row, col]) {
    const found = [];
    for (let r = Math.max(0, row - 1); r <= Math.min(this.rows - 1, row + 1); r++) {
      for (let c = Math.max(0, col - 1); c <= Math.min(this.cols - 1, col + 1); c++) {
        if (r !== row || c !== col) found.push([r, c]);
      }
    }
    return found;
  }

  /** Moves the focus to a cell and scrolls it into sight. */
  focus(cell) {
    this.#rove(this.index(cell));
    this.cells[this.#focused].focus();
  }

  #build(rows, cols) {
    Object.assign(this, { rows, cols, view: "", cells: [] });
    [this.#values, this.#proved, this.#focused] = [[], "", 0];
    this.#marks.clear();
    this.#indexOf = new Map();
    const lines = [this.#axis()];
    for (let row = 0; row < rows; row++) {
      const line = element("div", { className: "line", role: "row" });
      line.append(element("span", { className: "label", "aria-hidden": "true" }, `${row + FIRST}`));
      for (let col = 0; col < cols; col++) {
        const button = element("button", { type: "button", className: "cell", role: "gridcell", tabIndex: -1 });
        this.#indexOf.set(button, this.cells.length);
        this.cells.push(button);
        line.append(button);
      }
      lines.push(line);
    }
    this.cells[0].tabIndex = 0;
    this.host.style.setProperty("--cols", cols);
    this.host.closest(".boards")?.style.setProperty("--cols", cols);
    this.grid.classList.toggle("is-large", rows * cols > LARGE);
    this.#fit();
    this.grid.replaceChildren(...lines);
  }

  #frontier() {
    const found = new Uint8Array(this.cells.length);
    for (let index = 0; index < found.length; index++) {
      if (this.view[index] < "0" || this.view[index] > "8") continue;
      for (const beside of this.neighbours(this.cell(index))) found[this.index(beside)] = 1;
    }
    return found;
  }

  #axis() {
    const names = Array.from({ length: this.cols }, (_, col) => element("span", { className: "label" }, `${col + FIRST}`));
    return element("div", { className: "axis", "aria-hidden": "true" }, element("span", { className: "label" }), ...names);
  }

  #paint(index) {
    const button = this.cells[index];
    const character = this.view[index];
    const value = this.#values[index] ?? null;
    const proof = this.#proved[index];
    let text;
    button.dataset.shows = character;
    if (value === null) {
      if (button.dataset.ink) {
        button.style.removeProperty("background-color");
        delete button.dataset.ink;
        delete button.dataset.proved;
      }
      text = character >= "1" && character <= "8" ? character : "";
    } else {
      const { background, ink } = this.#paintOf(value);
      button.style.backgroundColor = background;
      button.dataset.ink = ink;
      button.classList.toggle("is-interior", !this.#isFrontier[index]);
      button.dataset.proved = proof === "s" || proof === "m" ? proof : "";
      text = this.#isSigned ? shortPercent(Math.abs(value)) : shortPercent(value);
    }
    if (button.textContent !== text) button.textContent = text;
    button.setAttribute("aria-label", capitalised(this.#describe(index)));
  }

  #describe(index) {
    const character = this.view[index];
    const value = this.#values[index] ?? null;
    const heat = value === null ? "" : this.#isSigned ? `, difference ${signedPercent(value)}` : `, ${percent(value)} mine`;
    return `${cellName(this.cell(index))}: ${WORDS[character] ?? character}${heat}${PROOFS[this.#proved[index]] ?? ""}`;
  }

  #rove(index) {
    this.cells[this.#focused].tabIndex = -1;
    this.#focused = index;
    this.cells[index].tabIndex = 0;
  }

  #showTip(index) {
    this.#tipIndex = index;
    const value = this.#values[index] ?? null;
    this.tip.hidden = value === null;
    if (value === null) return;
    this.tip.textContent = this.#isSigned ? signedPercent(value) : percent(value);
    const cell = this.cells[index].getBoundingClientRect();
    const middle = Math.min(Math.max(cell.left + cell.width / 2, 32), innerWidth - 32);
    this.tip.style.left = `${middle}px`;
    this.tip.style.top = `${cell.top < 60 ? cell.bottom + 34 : cell.top}px`;
  }

  /** Makes the cells as large as the place allows, within limits that the style sheet sets in rem. */
  #fit() {
    const place = this.host.parentElement.clientWidth;
    if (!place || !this.cols) return;
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const style = getComputedStyle(this.host);
    const [least, most, beside, above] = LIMITS.map((name) => rem * Number(style.getPropertyValue(name)));
    const fitting = Math.min((place - beside) / this.cols, (innerHeight - above) / this.rows) - 1;
    const cell = Math.floor(Math.min(Math.max(fitting, least), most));
    this.host.style.setProperty("--cell", `${cell}px`);
    this.grid.classList.toggle("is-small", cell < SMALL_PX);
  }

  #listen() {
    const { grid, actions } = this;
    const indexAt = (event) => this.#indexOf.get(event.target.closest?.(".cell"));
    let timer = null;
    let start = null;
    let isSwallowed = false; // a long press also ends in a click
    const cancel = () => clearTimeout(timer);
    const flag = (index) => actions.flag?.(this.cell(index), this.view[index]);

    grid.addEventListener("pointerdown", (event) => {
      const index = indexAt(event);
      isSwallowed = false;
      if (index === undefined || event.button !== 0) return;
      actions.press?.(true);
      if (event.pointerType === "mouse") return;
      start = [event.clientX, event.clientY];
      timer = setTimeout(() => {
        isSwallowed = true;
        navigator.vibrate?.(15);
        flag(index);
      }, LONG_PRESS_MS);
    });
    grid.addEventListener("pointermove", (event) => {
      if (start && Math.hypot(event.clientX - start[0], event.clientY - start[1]) > 10) cancel();
    });
    for (const name of ["pointerup", "pointercancel"]) {
      addEventListener(name, () => {
        cancel();
        actions.press?.(false);
      });
    }
    grid.addEventListener("contextmenu", (event) => {
      const index = indexAt(event);
      if (index === undefined) return;
      event.preventDefault();
      if (event.pointerType !== "touch" && event.pointerType !== "pen") flag(index); // those are long presses, above
    });
    grid.addEventListener("click", (event) => {
      const index = indexAt(event);
      if (index === undefined || (isSwallowed && event.detail > 0)) return;
      this.#rove(index);
      actions.open?.(this.cell(index), this.view[index]);
    });
    grid.addEventListener("keydown", (event) => this.#key(event, indexAt(event), flag));
    for (const name of ["pointerover", "focusin"]) {
      grid.addEventListener(name, (event) => {
        const index = indexAt(event);
        if (index === undefined) return;
        this.#showTip(index);
        actions.hover?.(this.cell(index));
      });
    }
    for (const name of ["pointerleave", "focusout"]) {
      grid.addEventListener(name, () => {
        this.tip.hidden = true;
        actions.hover?.(null);
      });
    }
    this.host.addEventListener("scroll", () => (this.tip.hidden = true), { passive: true });
  }

  #key(event, index, flag) {
    if (index === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, col] = this.cell(index);
    const { key } = event;
    let target = null;
    if (MOVES[key]) target = [row + MOVES[key][0], col + MOVES[key][1]];
    else if (key === "Home") target = [row, 0];
    else if (key === "End") target = [row, this.cols - 1];
    else if (key === "f" || key === "F") flag(index);
    else if (!this.actions.key?.([row, col], key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!target) return;
    this.focus([Math.min(Math.max(target[0], 0), this.rows - 1), Math.min(Math.max(target[1], 0), this.cols - 1)]);
  }
}
