// Choosing a solver, and showing its answer: heat map, recommended move and why.
import { element } from "./dom.js";
import { probabilityLegend, probabilityPaint } from "./heatmap.js";
import { FIRST, capitalised, cellNames, percent } from "./text.js";

const KINDS = { exact: "Exact", rule: "Rules", network: "Networks" };
const CELL_IN_TEXT = /row (\d+), column (\d+)/g;

/** Fills a select with the solvers, by kind; `chosen` stays if it is still there. */
export function fillSolvers(select, config, chosen) {
  for (const [kind, label] of Object.entries(KINDS)) {
    const solvers = config.solvers.filter((solver) => solver.kind === kind);
    if (!solvers.length) continue;
    const options = solvers.map((solver) => element("option", { value: solver.id }, solver.label));
    select.append(element("optgroup", { label }, ...options));
  }
  const isThere = config.solvers.some((solver) => solver.id === chosen);
  select.value = isThere ? chosen : config.default_solver;
}

export const solverLabel = (config, id) => config.solvers.find((solver) => solver.id === id)?.label ?? id;

/** The heat map that `Board.show` takes. */
export function heatOf(solution) {
  return { values: solution.probabilities, proved: solution.proved, paint: probabilityPaint };
}

/** The part of an older heat map that still holds for a view: its cells that are hidden there; null for another size. */
export function heatOn(view, heat) {
  const lines = view.split("\n");
  if (!heat || heat.values.length !== lines.length || heat.values[0].length !== lines[0].length) return null;
  const isHidden = (row, col) => lines[row][col] === "." || lines[row][col] === "F";
  return { ...heat, values: heat.values.map((line, row) => line.map((value, col) => (isHidden(row, col) ? value : null))) };
}

/** A sentence in which each cell that it names is a button that shows the cell on the board. */
export function linkedSentence(text, board) {
  const line = element("span");
  let end = 0;
  for (const found of text.matchAll(CELL_IN_TEXT)) {
    const cell = [Number(found[1]) - FIRST, Number(found[2]) - FIRST];
    if (cell[0] < 0 || cell[1] < 0 || cell[0] >= board.rows || cell[1] >= board.cols) continue;
    line.append(text.slice(end, found.index), cellLink(found[0], [cell], board));
    end = found.index + found[0].length;
  }
  line.append(text.slice(end));
  return line;
}

/** A button in a sentence; pointing at it or focusing it shows the cells on the board, a click goes there. */
export function cellLink(text, cells, board) {
  const link = element("button", { type: "button", className: "cell-link" }, text);
  for (const name of ["pointerenter", "focus"]) link.addEventListener(name, () => board.mark("is-linked", cells));
  for (const name of ["pointerleave", "blur"]) link.addEventListener(name, () => board.mark("is-linked"));
  link.addEventListener("click", () => board.focus(cells[0]));
  return link;
}

/** "safe" or "12.5% risk" in the colour of the risk; a move by hand has none. */
export function riskBadge(probability, isGuess) {
  if (probability === null) return element("span", { className: "badge" }, "by hand");
  const text = probability === 0 && !isGuess ? "safe" : `${percent(probability)} risk`;
  const badge = element("span", { className: "badge" }, text);
  const { background, ink } = probabilityPaint(probability);
  badge.style.backgroundColor = background;
  badge.dataset.ink = ink;
  return badge;
}

/** Shows a solution beside its board; `onMake(cells)` adds a button that makes the move. */
export function showSolution(host, board, solution, onMake = null) {
  const { move } = solution;
  const isFocused = host.querySelector(".make") === document.activeElement && document.activeElement !== null;
  board.mark("is-best", move?.cells ?? []);
  const parts = [];
  if (move) {
    if (move.cells.length) {
      const heading = element("div", { className: "row move" }, riskBadge(move.probability, move.is_guess));
      heading.append(cellLink(capitalised(cellNames(move.cells, 2)), move.cells, board));
      parts.push(heading);
    }
    parts.push(element("p", { className: "reason" }, linkedSentence(`${capitalised(move.reason)}.`, board)));
    if (onMake && move.cells.length) {
      const make = element("button", { type: "button", className: "make" }, move.cells.length > 1 ? "Make these moves" : "Make this move");
      make.addEventListener("click", () => onMake(move.cells));
      parts.push(make);
    }
  }
  const kind = solution.exact ? "Exact probabilities" : "Estimates";
  parts.push(probabilityLegend(), element("p", { className: "note" }, `${kind}, ${solution.milliseconds.toFixed(1)} ms`));
  host.replaceChildren(...parts);
  if (isFocused) host.querySelector(".make")?.focus();
}

/** Takes the answer away again; `text` says why, if it has a reason. */
export function hideSolution(host, board, text = "", isProblem = true) {
  board.mark("is-best");
  board.mark("is-linked");
  host.replaceChildren(...(text ? [element("p", { className: isProblem ? "problem" : "note" }, text)] : []));
}
