// Tab Compare: two solvers on one position, side by side, with the difference and where it is largest.
import { Latest, api } from "./api.js";
import { Board } from "./board.js";
import { copyFrom, element, references } from "./dom.js";
import { differenceLegend, differencePaint, differenceScale, probabilityLegend } from "./heatmap.js";
import { keep, settings } from "./settings.js";
import { fillSolvers, heatOf, riskBadge, solverLabel } from "./solution.js";
import { cellName, cellNames, counted, percent, positionFrom, positionHash, signedPercent } from "./text.js";

const SOURCES = { play: "Game in Play", watch: "Game in Watch", analyse: "Position in Analyse", link: "As given" };

const THINKING_MS = 300;

export class Compare {
  #position = null;
  #answer = null;
  #latest = new Latest();

  constructor(root, app) {
    this.app = app;
    this.ui = references(root);
    const hover = (cell) => this.boards.forEach((board) => board.mark("is-linked", cell ? [cell] : []));
    this.boards = ["A", "B", "D"].map((key) => new Board(this.ui[`board${key}`], "Position", { hover }));
    fillSolvers(this.ui.solverA, app.config, settings.solverA ?? "exact");
    const other = app.config.solvers.find((solver) => solver.kind === "network") ?? app.config.solvers.at(-1);
    fillSolvers(this.ui.solverB, app.config, settings.solverB ?? other.id);
    for (const [value, label] of Object.entries(SOURCES)) this.ui.source.append(element("option", { value }, label));
    this.#listen();
  }

  async show(parameters, position = null) {
    const linked = position ?? this.#linked(parameters);
    if (linked) {
      for (const [key, select] of [["a", this.ui.solverA], ["b", this.ui.solverB]]) {
        if (this.app.config.solvers.some((solver) => solver.id === parameters.get(key))) select.value = parameters.get(key);
      }
      this.ui.source.value = "link";
      this.#position = linked;
      await this.#refresh();
    } else if (!this.#position) {
      const game = await this.app.position("play");
      this.ui.source.value = /[0-8]/.test(game?.view ?? "") ? "play" : "analyse";
      await this.#take();
    } else if (this.ui.source.value !== "link") {
      await this.#take();
    }
  }

  #linked(parameters) {
    try {
      return positionFrom(parameters);
    } catch (error) {
      this.#problem(error.message);
      return null;
    }
  }

  async #take() {
    const position = this.ui.source.value === "link" ? this.#position : await this.app.position(this.ui.source.value);
    if (!position) {
      this.#problem(`There is no ${SOURCES[this.ui.source.value].toLowerCase()} yet.`);
      return;
    }
    this.#position = position;
    await this.#refresh();
  }

  async #refresh() {
    const solvers = [this.ui.solverA.value, this.ui.solverB.value];
    history.replaceState(null, "", this.#hash());
    const isThinking = setTimeout(() => (this.ui.message.textContent = "Thinking…"), THINKING_MS);
    if (!this.#answer) this.boards.forEach((board) => board.show(this.#position.view));
    try {
      const answer = await this.#latest.run((signal) => api.compare({ ...this.#position, solvers }, signal));
      if (!answer) return;
      this.#answer = answer;
      this.ui.message.textContent = "";
      this.#draw();
    } catch (error) {
      this.#answer = null;
      this.boards.forEach((board) => board.show(this.#position.view));
      this.boards.forEach((board) => board.mark("is-fault", error.cell ? [error.cell] : []));
      for (const name of ["legend", "difference", "table"]) this.ui[name].replaceChildren();
      this.#problem(error.message);
    } finally {
      clearTimeout(isThinking);
    }
  }

  #hash() {
    return positionHash("compare", this.#position, { a: this.ui.solverA.value, b: this.ui.solverB.value });
  }

  #draw() {
    const { solutions, difference, most } = this.#answer;
    const { view } = this.#position;
    const [a, b] = [this.ui.solverA, this.ui.solverB].map((select) => solverLabel(this.app.config, select.value));
    const scale = differenceScale(difference);
    const heats = [...solutions.map(heatOf), { values: difference, paint: differencePaint(scale), isSigned: true }];
    this.boards.forEach((board, index) => {
      board.mark("is-fault");
      board.show(view, heats[index]);
      board.mark("is-best", solutions[index]?.move?.cells ?? []);
    });
    [["captionA", a, solutions[0]], ["captionB", b, solutions[1]]].forEach(([ref, label, { move }]) => {
      const best = move?.cells.length ? [riskBadge(move.probability, move.is_guess), " ", cellNames(move.cells, 1)] : [];
      this.ui[ref].replaceChildren(element("strong", {}, label), element("span", {}, ...best));
    });
    const values = difference.flat().filter((value) => value !== null);
    const apart = values.filter((value) => Math.abs(value) > 0.01).length;
    this.ui.captionD.replaceChildren(
      element("strong", {}, "Difference"),
      element("span", {}, `more than 1% apart on ${apart} of ${counted(values.length, "cell")}`),
    );
    this.ui.legend.replaceChildren(probabilityLegend());
    this.ui.difference.replaceChildren(differenceLegend(scale, a, b));
    this.#drawTable(most);
  }

  #drawTable(most) {
    const head = element("tr", {}, ...["Cell", "First", "Second", "Difference"].map((text) => element("th", { scope: "col" }, text)));
    const rows = most.map((entry) => {
      const link = element("button", { type: "button", className: "cell-link" }, cellName(entry.cell));
      const mark = (cells) => () => this.boards.forEach((board) => board.mark("is-linked", cells));
      const cells = [percent(entry.a), percent(entry.b), signedPercent(entry.a - entry.b)];
      const row = element("tr", {}, element("th", { scope: "row" }, link), ...cells.map((text) => element("td", {}, text)));
      for (const name of ["pointerenter", "focusin"]) row.addEventListener(name, mark([entry.cell]));
      for (const name of ["pointerleave", "focusout"]) row.addEventListener(name, mark([]));
      return row;
    });
    const caption = element("caption", {}, "Where they disagree most");
    const table = element("table", {}, caption, element("thead", {}, head), element("tbody", {}, ...rows));
    this.ui.table.replaceChildren(rows.length ? table : element("p", { className: "note" }, "They agree on every cell."));
  }

  #problem(text) {
    this.ui.message.replaceChildren(element("span", { className: "problem" }, text));
  }

  #listen() {
    const { ui } = this;
    const refresh = () => {
      keep({ solverA: ui.solverA.value, solverB: ui.solverB.value });
      if (this.#position) this.#refresh();
    };
    ui.solverA.addEventListener("change", refresh);
    ui.solverB.addEventListener("change", refresh);
    ui.swap.addEventListener("click", () => {
      [ui.solverA.value, ui.solverB.value] = [ui.solverB.value, ui.solverA.value];
      refresh();
    });
    ui.source.addEventListener("change", () => this.#take());
    ui.edit.addEventListener("click", () => this.app.open("analyse", this.#position));
    ui.share.addEventListener("click", () => copyFrom(ui.share, location.origin + location.pathname + this.#hash()));
    addEventListener("theme", () => this.#answer && this.#draw());
  }
}
