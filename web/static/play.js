// Tab Play: a game by hand, with the hints of any solver.
import { Latest, Queue, api } from "./api.js";
import { Board } from "./board.js";
import { copyFrom, element, isTyping, references } from "./dom.js";
import { showFace } from "./face.js";
import { GameForm, presetOf } from "./gameform.js";
import { keep, settings } from "./settings.js";
import { fillSolvers, heatOf, heatOn, hideSolution, linkedSentence, showSolution } from "./solution.js";
import { cellName, percent } from "./text.js";

const HEARTBEAT_MS = 15000; // the clock does not count the time when no page asks about the game
const STALE_MS = 200; // an old heat map is taken away when the new one takes longer

export class Play {
  game = null;
  #queue = new Queue();
  #hint = new Latest();
  #heat = null;
  #seen = 0; // time of the last answer, for the clock
  #isMaking = false;
  #isTense = false;
  #isFlagging = false;

  constructor(root, app) {
    this.app = app;
    this.root = root;
    this.ui = references(root);
    this.board = new Board(this.ui.board, "Minefield", {
      open: (cell, character) => (this.#isFlagging && ".F".includes(character) ? this.flag(cell) : this.open(cell, character)),
      flag: (cell) => this.flag(cell),
      press: (isDown) => this.#press(isDown),
    });
    this.form = new GameForm(this.ui.form, app.config, settings.form, {
      name: "play",
      hasNoGuess: true,
      onStart: (values, isAsked) => {
        keep({ form: values });
        if (isAsked || this.game?.status !== "playing") this.start(values);
        else this.#say("“New game” leaves this one for the mode that you chose.");
      },
    });
    fillSolvers(this.ui.solver, app.config, settings.hintSolver);
    this.ui.hints.checked = Boolean(settings.hints);
    this.#listen();
    setInterval(() => this.#tick(), 200);
    setInterval(() => this.#beat(), HEARTBEAT_MS);
  }

  /** Shows the tab; parameters of a link start the game that it describes. */
  async show(parameters) {
    const shared = this.#fromLink(parameters);
    if (shared) {
      this.form.fill(shared);
      history.replaceState(null, "", "#play");
      await this.start(shared);
    } else {
      await this.load();
      if (!this.game) await this.start(this.form.values());
    }
  }

  /** Takes up the game that the page was closed with, if there is one. */
  async load() {
    if (this.game) return;
    const game = await this.#try(() => api.current());
    if (this.#isAskedToStart(game) || !game?.id || game.is_watched) return;
    this.form.fill({ ...this.form.values(), mode: game, first_click: game.first_click, no_guess: game.no_guess });
    this.apply(game);
  }

  /** Whether play.py was started with a mode that the game is not of; heeded once, not at every reload. */
  #isAskedToStart(game) {
    const { start } = this.app.config;
    if (!start || sessionStorage.getItem("start") === JSON.stringify(start)) return false;
    sessionStorage.setItem("start", JSON.stringify(start));
    this.form.fill({ ...this.form.values(), ...start });
    return !["rows", "cols", "mines"].every((key) => start.mode[key] === game?.[key]);
  }

  /** The position for the other tabs. */
  position() {
    return this.game && { view: this.game.view.replace(/[*X!]/g, "."), mines: this.game.mines };
  }

  async start(values) {
    this.#hint.cancel();
    const game = await this.#try(() => this.#queue.run(() => api.newGame(values)));
    if (!game) return;
    this.#heat = null;
    this.apply(game);
  }

  open(cell, character) {
    if (this.#isOver()) return;
    if (character === ".") this.#move((id) => api.reveal(id, cell), cell);
    else if (character >= "1" && this.#isSatisfied(cell, character)) this.#move((id) => api.chord(id, cell), cell);
  }

  flag(cell) {
    if (!this.#isOver() && ".F".includes(this.board.at(cell))) this.#move((id) => api.flag(id, cell), cell);
  }

  /** Takes the server's game as the truth and draws it. */
  apply(game) {
    const isOther = this.game?.id !== game.id;
    this.game = game;
    this.#seen = performance.now();
    this.board.mark("is-best");
    if (isOther) this.#say("");
    this.#draw();
    if (game.status === "won" || game.status === "lost") this.#end();
    else if (!this.ui.hints.checked) this.#clearHint();
    else if (!this.#isMaking) this.#askHint();
    this.#tick();
  }

  #draw() {
    this.board.show(this.game.view, heatOn(this.game.view, this.#heat));
    this.#face();
    this.ui.minesLeft.textContent = String(this.game.mines_left).padStart(3, "0");
    this.root.dataset.status = this.game.status;
    this.ui.share.disabled = this.game.seed === null;
    this.ui.share.title = this.game.seed === null ? "A random seed is told when the game is over" : `Seed ${this.game.seed}`;
  }

  #end() {
    this.#clearHint();
    const { fatal, status, seconds } = this.game;
    if (status === "won") {
      this.ui.message.replaceChildren(element("strong", {}, "Won"), ` in ${seconds.toFixed(1)} seconds.`);
    } else {
      const chance = fatal && fatal.probability !== null ? `: the chance of a mine there was ${percent(fatal.probability)}` : "";
      const place = fatal ? ` at ${cellName(fatal.cell)}${chance}.` : ".";
      this.ui.message.replaceChildren(element("strong", {}, "Lost"), linkedSentence(place, this.board));
    }
  }

  #move(request, cell) {
    const { id } = this.game;
    return this.#queue.run(async () => {
      if (this.game.id !== id) return;
      if (this.game.no_guess && this.game.status === "new") this.#say("Looking for a board that needs no guess…");
      const game = await this.#try(() => request(id));
      if (!game || this.game.id !== id) return;
      this.#say("");
      this.apply(game);
      if (game.status === "playing") this.#announce(cell);
    });
  }

  /** Says to a screen reader what the cell shows now; the line stays empty for the eye. */
  #announce(cell) {
    const button = this.board.cells[this.board.index(cell)];
    this.ui.message.replaceChildren(element("span", { className: "spoken" }, button.getAttribute("aria-label")));
  }

  /** Reveals the cells that a solver recommends; the next hint is asked for after the last. */
  async #make(cells) {
    const { id } = this.game;
    this.#isMaking = true;
    for (const cell of cells) {
      if (this.game.id !== id) break;
      if (this.board.at(cell) === "F") await this.#move((id) => api.flag(id, cell), cell);
      if (this.board.at(cell) === ".") await this.#move((id) => api.reveal(id, cell), cell);
    }
    this.#isMaking = false;
    if (this.ui.hints.checked && !this.#isOver()) await this.#askHint();
  }

  async #askHint() {
    const { game } = this;
    const stale = setTimeout(() => {
      this.#heat = null;
      this.#draw();
      hideSolution(this.ui.solution, this.board, "Thinking…", false);
    }, STALE_MS);
    try {
      const solution = await this.#hint.run((signal) => api.hint(game.id, this.ui.solver.value, signal));
      if (!solution || game !== this.game) return;
      this.#heat = heatOf(solution);
      this.#draw();
      showSolution(this.ui.solution, this.board, solution, (cells) => this.#make(cells));
    } catch (error) {
      this.#heat = null;
      this.#draw();
      hideSolution(this.ui.solution, this.board, error.message);
    } finally {
      clearTimeout(stale);
    }
  }

  #clearHint() {
    this.#hint.cancel();
    if (this.#heat) {
      this.#heat = null;
      this.#draw();
    }
    hideSolution(this.ui.solution, this.board);
  }

  #isOver() {
    return !this.game || this.game.status === "won" || this.game.status === "lost";
  }

  #isSatisfied(cell, character) {
    return this.board.neighbours(cell).filter((beside) => this.board.at(beside) === "F").length === Number(character);
  }

  #say(text) {
    this.ui.message.textContent = text;
  }

  #press(isDown) {
    this.#isTense = isDown && !this.#isOver();
    this.#face();
  }

  #face() {
    const { status } = this.game ?? {};
    showFace(this.ui.face, status === "won" || status === "lost" ? status : this.#isTense ? "tense" : "happy");
  }

  #tick() {
    if (!this.game) return;
    const more = this.game.status === "playing" ? (performance.now() - this.#seen) / 1000 : 0;
    const text = String(Math.floor(this.game.seconds + more)).padStart(3, "0");
    if (this.ui.timer.textContent !== text) this.ui.timer.textContent = text;
  }

  async #beat() {
    if (this.game?.status !== "playing" || document.hidden || this.root.hidden) return;
    const { game } = this;
    const answer = await this.#queue.run(() => api.game(game.id)).catch(() => null);
    if (!answer || this.game !== game) return;
    this.game.seconds = answer.seconds;
    this.#seen = performance.now();
  }

  async #try(task) {
    try {
      return await task();
    } catch (error) {
      this.ui.message.replaceChildren(element("span", { className: "problem" }, error.message));
      return null;
    }
  }

  #fromLink(parameters) {
    if (!parameters.has("mode") && !parameters.has("rows")) return null;
    const number = (name) => Number(parameters.get(name));
    const custom = { rows: number("rows"), cols: number("cols"), mines: number("mines") };
    return {
      mode: parameters.get("mode") ?? custom,
      first_click: parameters.get("first_click") ?? "safe",
      seed: parameters.has("seed") ? number("seed") : null,
      no_guess: parameters.get("no_guess") === "true",
    };
  }

  #link() {
    const { rows, cols, mines, first_click, seed, no_guess } = this.game;
    const mode = presetOf(this.app.config, this.game);
    const size = mode ? { mode } : { rows, cols, mines };
    const parameters = new URLSearchParams({ ...size, first_click, seed, no_guess });
    return `${location.origin}${location.pathname}#play?${parameters}`;
  }

  #listen() {
    const { ui } = this;
    ui.face.addEventListener("click", () => this.start(this.form.values()));
    ui.hints.addEventListener("change", () => {
      keep({ hints: ui.hints.checked });
      if (this.game) this.apply(this.game);
    });
    ui.solver.addEventListener("change", () => {
      keep({ hintSolver: ui.solver.value, hints: true });
      ui.hints.checked = true;
      if (this.game) this.apply(this.game);
    });
    ui.flagMode.addEventListener("click", () => {
      this.#isFlagging = !this.#isFlagging;
      ui.flagMode.setAttribute("aria-pressed", String(this.#isFlagging));
    });
    ui.share.addEventListener("click", () => copyFrom(ui.share, this.#link()));
    ui.analyse.addEventListener("click", () => this.app.open("analyse", this.position()));
    ui.compare.addEventListener("click", () => this.app.open("compare", this.position()));
    addEventListener("keydown", (event) => {
      if (this.root.hidden || isTyping(event) || document.querySelector("dialog[open]")) return;
      if (event.key === "n") ui.face.click();
      else if (event.key === "h") ui.hints.click();
    });
  }
}
