// Tab Analyse: a position that one clicks or pastes, and the mine probability of its cells.
import { Latest, api } from "./api.js";
import { Board } from "./board.js";
import { copyFrom, debounced, element, references } from "./dom.js";
import { keep, settings } from "./settings.js";
import { fillSolvers, heatOf, hideSolution, showSolution } from "./solution.js";
import { emptyView, formatPosition, parsePosition, positionFrom, positionHash, sizeOf } from "./text.js";

const CYCLE = ".012345678F";
const CYCLING = "cycle";
const EXAMPLE = {
  view: "...1101..\n....201..\n.2..20111\n.211101.1\n.200012..\n.10012.2.\n11112.2..\n.....2...\n.........",
  mines: 12,
};
const THINKING_MS = 300;
const MOST_SAVED = 1500; // characters of a position that settings hold

export class Analyse {
  #view = "";
  #mines = 0;
  #latest = new Latest();
  #brush = CYCLING;

  constructor(root, app) {
    this.app = app;
    this.ui = references(root);
    this.board = new Board(this.ui.board, "Position to analyse", {
      open: (cell, character) => this.#click(cell, character),
      flag: (cell, character) => this.#set(cell, character === "F" ? "." : "F"),
      key: (cell, key) => this.#key(cell, key),
    });
    fillSolvers(this.ui.solver, app.config, settings.analyseSolver);
    this.#makePalette();
    this.#listen();
    this.#solveSoon = debounced(() => this.#solve(), 120);
  }

  #solveSoon;

  /** Shows the tab, with the position of a link or another tab if there is one. */
  show(parameters, position = null) {
    let given = position;
    try {
      given ??= positionFrom(parameters);
    } catch (error) {
      this.#say(error.message);
    }
    const solver = parameters.get("solver");
    if (this.app.config.solvers.some((known) => known.id === solver)) this.ui.solver.value = solver;
    if (given) this.#take(given);
    else if (!this.#view) this.#take(settings.position ?? EXAMPLE);
    else this.#remember();
  }

  position() {
    return this.#view ? { view: this.#view, mines: this.#mines } : (settings.position ?? EXAMPLE);
  }

  #take({ view, mines }) {
    this.#mines = mines;
    this.#change(view);
  }

  /** Shows another view, and its probabilities soon. */
  #change(view, isTyped = false) {
    this.#view = view;
    const { rows, cols } = sizeOf(view);
    this.ui.rows.value = rows;
    this.ui.cols.value = cols;
    this.ui.mines.value = this.#mines;
    if (!isTyped) this.ui.text.value = view;
    this.ui.text.removeAttribute("aria-invalid");
    this.board.mark("is-fault");
    this.board.mark("is-best");
    this.board.show(view);
    this.#say("");
    this.#solveSoon();
  }

  async #solve() {
    this.#remember();
    const values = { view: this.#view, mines: this.#mines, solver: this.ui.solver.value };
    const isThinking = setTimeout(() => this.ui.message.replaceChildren("Thinking…"), THINKING_MS);
    try {
      const solution = await this.#latest.run((signal) => api.solve(values, signal));
      if (!solution) return;
      this.#say("");
      this.board.mark("is-fault");
      this.board.show(values.view, heatOf(solution));
      showSolution(this.ui.solution, this.board, solution);
    } catch (error) {
      this.board.show(values.view);
      hideSolution(this.ui.solution, this.board);
      this.board.mark("is-fault", error.cell ? [error.cell] : []);
      this.#say(error.message);
    } finally {
      clearTimeout(isThinking);
    }
  }

  #remember() {
    const position = this.position();
    history.replaceState(null, "", this.#hash());
    if (position.view.length <= MOST_SAVED) keep({ position });
  }

  #hash() {
    return positionHash("analyse", this.position(), { solver: this.ui.solver.value });
  }

  #say(text) {
    this.ui.message.replaceChildren(...(text ? [element("span", { className: "problem" }, text)] : []));
  }

  #set(cell, character) {
    const lines = this.#view.split("\n");
    const [row, col] = cell;
    lines[row] = lines[row].slice(0, col) + character + lines[row].slice(col + 1);
    this.#change(lines.join("\n"));
  }

  #click(cell, character) {
    const next = CYCLE[(CYCLE.indexOf(character) + 1) % CYCLE.length];
    this.#set(cell, this.#brush === CYCLING ? next : this.#brush);
  }

  #key(cell, key) {
    const character = ["Backspace", "Delete"].includes(key) ? "." : key;
    if (character.length !== 1 || !CYCLE.includes(character)) return false;
    this.#set(cell, character);
    return true;
  }

  #resize() {
    const [rows, cols] = [this.ui.rows, this.ui.cols].map((input) => Math.floor(Number(input.value)));
    const { limits } = this.app.config;
    if (rows < 1 || cols < 1 || rows > limits.rows || cols > limits.cols || rows * cols > limits.cells) {
      this.#say(`A board has at most ${limits.rows} rows, ${limits.cols} columns and ${limits.cells} cells.`);
      return;
    }
    const lines = this.#view.split("\n").slice(0, rows).map((line) => line.slice(0, cols).padEnd(cols, "."));
    while (lines.length < rows) lines.push(".".repeat(cols));
    this.#change(lines.join("\n"));
  }

  #read() {
    try {
      const { view, mines } = parsePosition(this.ui.text.value);
      if (mines !== null) this.#mines = mines;
      this.#change(view, true);
    } catch (error) {
      this.ui.text.setAttribute("aria-invalid", "true");
      this.#say(error.message);
    }
  }

  #makePalette() {
    const names = { [CYCLING]: "Cycle", ".": "Hidden", F: "Flag" };
    for (const value of [CYCLING, ...CYCLE]) {
      const radio = element("input", { type: "radio", name: "brush", value, checked: value === CYCLING });
      const face = element("span", {}, value === "." || value === "F" ? "" : (names[value] ?? value));
      if (value !== CYCLING) face.dataset.shows = value;
      this.ui.palette.append(element("label", { title: names[value] ?? `Number ${value}` }, radio, face));
      radio.setAttribute("aria-label", names[value] ?? value);
    }
    this.ui.palette.addEventListener("change", (event) => (this.#brush = event.target.value));
  }

  #listen() {
    const { ui } = this;
    ui.mines.addEventListener("input", () => {
      const mines = Number(ui.mines.value);
      if (ui.mines.value === "" || !Number.isInteger(mines)) return;
      this.#mines = mines;
      this.#solveSoon();
    });
    ui.rows.addEventListener("change", () => this.#resize());
    ui.cols.addEventListener("change", () => this.#resize());
    ui.text.addEventListener("input", debounced(() => this.#read(), 250));
    ui.solver.addEventListener("change", () => {
      keep({ analyseSolver: ui.solver.value });
      this.#solveSoon();
    });
    ui.share.addEventListener("click", () => copyFrom(ui.share, location.origin + location.pathname + this.#hash()));
    ui.copy.addEventListener("click", () => copyFrom(ui.copy, formatPosition(this.position())));
    ui.clear.addEventListener("click", () => {
      const { rows, cols } = sizeOf(this.#view);
      this.#change(emptyView(rows, cols));
    });
    ui.compare.addEventListener("click", () => this.app.open("compare", this.position()));
  }
}
