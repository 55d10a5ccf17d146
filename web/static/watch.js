// Tab Watch: a solver plays; one steps, plays, goes back to any earlier move and reads why each was made.
import { Latest, api } from "./api.js";
import { Board } from "./board.js";
import { RiskChart } from "./chart.js";
import { element, isTyping, references } from "./dom.js";
import { GameForm } from "./gameform.js";
import { probabilityLegend } from "./heatmap.js";
import { keep, settings } from "./settings.js";
import { fillSolvers, heatOf, heatOn, linkedSentence, riskBadge, solverLabel } from "./solution.js";
import { capitalised, cellNames, counted } from "./text.js";

const SPEEDS = [0.5, 1, 2, 4, 8, 16, 64]; // moves a second

export class Watch {
  game = null;
  moves = [];
  current = 0; // the move after which the board is shown; 0: the start
  #timer = null;
  #isStepping = false;
  #solve = new Latest();

  constructor(root, app) {
    this.app = app;
    this.root = root;
    this.ui = references(root);
    this.board = new Board(this.ui.board, "Minefield of the watched game");
    this.chart = new RiskChart(this.ui.chart, (number) => this.goTo(number));
    this.form = new GameForm(this.ui.form, app.config, settings.watchForm, {
      name: "watch",
      hasNoGuess: false,
      onStart: (values) => {
        keep({ watchForm: values });
        this.start(values);
      },
    });
    fillSolvers(this.ui.solver, app.config, settings.watchSolver);
    this.ui.speed.value = settings.speed ?? 2;
    this.ui.heat.checked = settings.watchHeat ?? true;
    this.ui.legend.append(probabilityLegend(false));
    this.#listen();
  }

  async show() {
    await this.load();
    if (!this.game) await this.start(this.form.values());
  }

  /** Takes up the game that the page was closed with, if the server still has it. */
  async load() {
    if (this.game || !settings.watchGame) return;
    const game = await api.game(settings.watchGame).catch(() => null);
    if (!game) return;
    this.game = game;
    this.moves = (await this.#try(() => api.moves(game.id)))?.moves ?? [];
    this.goTo(this.moves.length);
  }

  hide() {
    this.pause();
  }

  position() {
    return this.game && { view: this.#view().replace(/[*X!]/g, "."), mines: this.game.mines };
  }

  async start(values) {
    this.pause();
    const game = await this.#try(() => api.newGame(values));
    if (!game) return;
    keep({ watchGame: game.id });
    Object.assign(this, { game, moves: [] });
    this.goTo(0);
  }

  /** Shows the board after a move; 0 is the start. */
  goTo(number) {
    this.current = Math.min(Math.max(number, 0), this.moves.length);
    const move = this.moves[this.current - 1];
    const view = this.#view();
    this.board.show(view, this.#isEnd() ? null : heatOn(view, this.heat));
    this.board.mark("is-last", move?.cells ?? []);
    this.heatShown = this.#showHeat();
    this.#showMove(move);
    this.#showList();
    this.chart.show(this.moves, this.current);
    this.ui.minesLeft.textContent = String(this.game.mines).padStart(3, "0");
    this.ui.counter.textContent = `${this.current}/${this.moves.length}`;
    this.ui.branch.hidden = this.current === this.moves.length;
    this.ui.first.disabled = this.ui.back.disabled = this.current === 0;
    this.ui.last.disabled = this.current === this.moves.length;
    this.ui.step.disabled = this.#isEnd();
  }

  /** One move on: a known one is shown again, else the solver makes it. Whether there was one. */
  async forward() {
    if (this.#isStepping || !this.game || this.#isEnd()) return false;
    if (this.current < this.moves.length) {
      this.goTo(this.current + 1);
      return true;
    }
    this.#isStepping = true;
    const before = this.game;
    const game = await this.#try(() => api.step(before.id, this.ui.solver.value));
    this.#isStepping = false;
    if (!game || this.game !== before) return false;
    this.game = game;
    this.moves.push(game.move);
    this.goTo(this.moves.length);
    return true;
  }

  play() {
    if (this.#isEnd()) this.goTo(0);
    this.#setPlaying(true);
    const next = async () => {
      const start = performance.now();
      const isMoved = await this.forward();
      await this.heatShown; // else a fast game would never show it
      if (this.#timer === null) return;
      if (!isMoved || this.#isEnd()) this.pause();
      else this.#timer = setTimeout(next, Math.max(0, 1000 / SPEEDS[this.ui.speed.value] - (performance.now() - start)));
    };
    this.#timer = setTimeout(next, 0);
  }

  pause() {
    clearTimeout(this.#timer);
    this.#timer = null;
    this.#setPlaying(false);
  }

  /** Forgets the later moves, so that the chosen solver goes on from the move shown. */
  async branch() {
    this.pause();
    const game = await this.#try(() => api.goTo(this.game.id, this.current));
    if (!game) return;
    this.game = game;
    this.moves.length = this.current;
    this.goTo(this.current);
  }

  #isEnd() {
    return this.current === this.moves.length && (this.game?.status === "won" || this.game?.status === "lost");
  }

  /** The view after the move shown: every cell is opened once, by one of the moves so far. */
  #view() {
    const { rows, cols } = this.game;
    const lines = Array.from({ length: rows }, () => Array(cols).fill("."));
    for (const { opened } of this.moves.slice(0, this.current)) {
      for (const [row, col, character] of opened) lines[row][col] = character;
    }
    return lines.map((line) => line.join("")).join("\n");
  }

  async #showHeat() {
    const view = this.#view();
    if (!this.ui.heat.checked || this.#isEnd()) {
      this.#solve.cancel();
      this.heat = null;
      this.board.show(view);
      return;
    }
    try {
      const values = { view, mines: this.game.mines, solver: this.ui.solver.value };
      const solution = await this.#solve.run((signal) => api.solve(values, signal));
      if (!solution) return;
      this.heat = heatOf(solution);
      this.board.show(view, this.heat);
    } catch (error) {
      this.heat = null;
      this.board.show(view);
      this.#problem(error);
    }
  }

  #showMove(move) {
    const { message } = this.ui;
    if (!move) {
      message.textContent = "Press play, or step through the game move by move.";
      return;
    }
    const end = { won: "Won. ", lost: "Lost. " }[this.#isEnd() ? this.game.status : ""] ?? "";
    message.replaceChildren(
      element("strong", {}, end),
      riskBadge(move.probability, move.is_guess),
      " ",
      linkedSentence(move.reason ? `${capitalised(move.reason)}.` : "", this.board),
    );
  }

  #showList() {
    const { moves: list } = this.ui;
    while (list.children.length > this.moves.length) list.lastElementChild.remove();
    // another game or branch: the entries are those of other moves
    while (list.lastElementChild && list.lastElementChild.move !== this.moves[list.children.length - 1]) {
      list.lastElementChild.remove();
    }
    for (let index = list.children.length; index < this.moves.length; index++) list.append(this.#entry(index));
    list.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
    const entry = list.children[this.current - 1];
    entry?.setAttribute("aria-selected", "true");
    if (entry) list.setAttribute("aria-activedescendant", entry.id);
    else list.removeAttribute("aria-activedescendant");
    if (entry) list.scrollTop = entry.offsetTop - list.clientHeight / 2;
  }

  #entry(index) {
    const move = this.moves[index];
    const entry = element(
      "li",
      { id: `move-${index + 1}`, role: "option", "aria-selected": "false", title: solverLabel(this.app.config, move.solver) },
      element("span", { className: "number" }, String(index + 1)),
      riskBadge(move.probability, move.is_guess),
      element("span", { className: "where" }, cellNames(move.cells, 1)),
      element("span", { className: "why" }, capitalised(move.reason)),
    );
    entry.move = move;
    return entry;
  }

  #setPlaying(isPlaying) {
    this.ui.toggle.firstElementChild.className = `icon ${isPlaying ? "pause" : "start"}`;
    this.ui.toggle.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
  }

  #problem(error) {
    this.ui.message.replaceChildren(element("span", { className: "problem" }, error.message));
  }

  async #try(task) {
    try {
      return await task();
    } catch (error) {
      this.#problem(error);
      return null;
    }
  }

  #listen() {
    const { ui } = this;
    const stop = (action) => () => {
      this.pause();
      action();
    };
    const toggle = () => (this.#timer === null ? this.play() : this.pause());
    const actions = {
      Home: stop(() => this.goTo(0)),
      End: stop(() => this.goTo(this.moves.length)),
      ArrowLeft: stop(() => this.goTo(this.current - 1)),
      ArrowRight: stop(() => this.forward()),
      p: toggle,
    };
    ui.first.addEventListener("click", actions.Home);
    ui.last.addEventListener("click", actions.End);
    ui.back.addEventListener("click", actions.ArrowLeft);
    ui.step.addEventListener("click", actions.ArrowRight);
    ui.toggle.addEventListener("click", toggle);
    ui.branch.addEventListener("click", () => this.branch());
    ui.analyse.addEventListener("click", () => this.app.open("analyse", this.position()));
    ui.compare.addEventListener("click", () => this.app.open("compare", this.position()));
    ui.moves.addEventListener("click", (event) => {
      const entry = event.target.closest("li");
      if (entry) stop(() => this.goTo(this.moves.indexOf(entry.move) + 1))();
    });
    ui.moves.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
      event.preventDefault();
      stop(() => this.goTo(this.current + (event.key === "ArrowUp" ? -1 : 1)))();
    });
    const setSpeed = () => {
      const speed = SPEEDS[ui.speed.value];
      ui.speedText.textContent = `${counted(speed, "move")} a second`;
      keep({ speed: Number(ui.speed.value) });
    };
    ui.speed.addEventListener("input", setSpeed);
    setSpeed();
    ui.solver.addEventListener("change", () => {
      keep({ watchSolver: ui.solver.value });
      this.#showHeat();
    });
    ui.heat.addEventListener("change", () => {
      keep({ watchHeat: ui.heat.checked });
      this.#showHeat();
    });
    addEventListener("keydown", (event) => {
      if (this.root.hidden || isTyping(event) || document.querySelector("dialog[open]")) return;
      if (!actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
  }
}
