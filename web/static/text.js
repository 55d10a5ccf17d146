// Views as text (both ways), names of cells and of probabilities.

/** Number of the first row and column, as the server's sentences and the terminal count them. */
export const FIRST = 1;

const CELLS = /^[.F*0-8]+$/;
const THREE_INTEGERS = /^[ \t]*([0-9]{1,9})[ \t]+([0-9]{1,9})[ \t]+([0-9]{1,9})[ \t]*$/;
const THREE_CELLS = /^[ \t]*[0-2][ \t]+[0-8][ \t]+[0-8][ \t]*$/;

export const emptyView = (rows, cols) => Array(rows).fill(".".repeat(cols)).join("\n");

/** {rows, cols} of a view. */
export function sizeOf(view) {
  const lines = view.split("\n");
  return { rows: lines.length, cols: lines[0].length };
}

/** {view, mines} of a text as people paste it; mines is null without a header. Throws an Error that says the line. */
export function parsePosition(text) {
  const lines = text
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, raw: line, cells: line.replace(/[ \t]/g, "") }))
    .filter((line) => line.cells);
  let mines = null;
  const header = lines.length ? THREE_INTEGERS.exec(lines[0].raw) : null;
  const isRow = header && THREE_CELLS.test(lines[0].raw) && (lines.length === 1 || lines[1].cells.length === 3);
  if (header && !isRow) {
    const [width, height] = [Number(header[1]), Number(header[2])];
    mines = Number(header[3]);
    lines.shift();
    if (lines.length !== height || lines[0]?.cells.length !== width) {
      throw new Error(`The first line says ${width} wide and ${height} high, which the rows below are not.`);
    }
  }
  if (!lines.length) throw new Error("There are no rows yet.");
  for (const { number, cells } of lines) {
    if (!CELLS.test(cells)) {
      throw new Error(`Line ${number}: “${cells.replace(/[.F*0-8]/g, "")[0]}” is no cell. Cells are . F and 0 to 8.`);
    }
    if (cells.length !== lines[0].cells.length) {
      throw new Error(`Line ${number} has ${counted(cells.length, "cell")}, the first row has ${lines[0].cells.length}.`);
    }
  }
  return { view: lines.map((line) => line.cells).join("\n"), mines };
}

/** The text form with its header. */
export function formatPosition({ view, mines }) {
  const { rows, cols } = sizeOf(view);
  return `${cols} ${rows} ${mines}\n${view}\n`;
}

/** The hash of a link that holds a position. */
export function positionHash(tab, { view, mines }, extra = {}) {
  const more = Object.entries(extra).map(([key, value]) => `&${key}=${encodeURIComponent(value)}`);
  return `#${tab}?mines=${mines}&view=${view.replaceAll("\n", "/")}${more.join("")}`;
}

/** The position in the parameters of a link, or null. */
export function positionFrom(parameters) {
  const view = parameters.get("view");
  if (!view) return null;
  const mines = Number(parameters.get("mines"));
  return { view: parsePosition(view.replaceAll("/", "\n")).view, mines: Number.isInteger(mines) ? mines : 0 };
}

export const cellName = ([row, col]) => `row ${row + FIRST}, column ${col + FIRST}`;

/** Several cells in words, the first few of many. */
export function cellNames(cells, most = 4) {
  const names = cells.slice(0, most).map(cellName);
  return names.join("; ") + (cells.length > most ? ` and ${cells.length - most} more` : "");
}

/** A probability as people read it: 12.5%, never rounded to a 0% or 100% that it is not. */
export function percent(value) {
  if (value === 0 || value === 1) return `${100 * value}%`;
  if (value < 0.001) return "<0.1%";
  if (value > 0.999) return ">99.9%";
  return `${(100 * value).toFixed(1).replace(/\.0$/, "")}%`;
}

/** The same for the inside of a cell: at most three characters. */
export function shortPercent(value) {
  if (value === 0 || value === 1) return `${100 * value}`;
  if (value < 0.01) return "<1";
  return `${Math.min(99, Math.round(100 * value))}`;
}

/** A signed difference of two probabilities. */
export function signedPercent(value) {
  return (value > 0 ? "+" : value < 0 ? "−" : "") + percent(Math.abs(value));
}

/** A number with its noun: "1 mine", "2 mines". */
export const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

export function capitalised(sentence) {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
