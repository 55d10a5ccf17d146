// Chart of the risk taken at each move, as inline SVG.
import { element, svg } from "./dom.js";
import { probabilityPaint } from "./heatmap.js";
import { counted, percent } from "./text.js";

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [300, 96, 30, 14, 5];
const LEAST_SLOTS = 12; // the bars of a young game are not wider than this many would be

export class RiskChart {
  constructor(host, onChoose) {
    this.drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", class: "chart" });
    this.summary = element("p", { className: "note" });
    host.append(this.drawing, this.summary);
    this.drawing.addEventListener("click", (event) => {
      const box = this.drawing.getBoundingClientRect();
      const place = ((event.clientX - box.left) / box.width) * WIDTH - LEFT;
      const number = Math.floor(place / this.slot) + 1;
      if (number >= 1 && number <= this.count) onChoose(number);
    });
  }

  /** Draws the probabilities of the moves; `current` (from 1) is the one that the board shows, 0 the start. */
  show(all, current) {
    const moves = all.map((move) => ({ ...move, probability: move.probability ?? 0 }));
    this.count = moves.length;
    this.slot = (WIDTH - LEFT) / Math.max(LEAST_SLOTS, moves.length);
    const largest = Math.max(0, ...moves.map((move) => move.probability));
    const top = [0.1, 0.25, 0.5].find((value) => value >= largest) ?? 1;
    const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
    const parts = [];
    for (const share of [0, 0.5, 1]) {
      parts.push(
        svg("line", { class: "rule", x1: LEFT, x2: WIDTH, y1: y(top * share), y2: y(top * share) }),
        svg("text", { x: LEFT - 4, y: y(top * share) + 3, "text-anchor": "end" }, percent(top * share)),
      );
    }
    if (current) {
      const x = LEFT + (current - 1) * this.slot;
      parts.push(svg("rect", { class: "current", x, y: TOP, width: this.slot, height: HEIGHT - TOP - BOTTOM }));
    }
    moves.forEach((move, index) => {
      const height = Math.max(move.probability > 0 ? 2 : 1, y(0) - y(move.probability));
      const gap = this.slot > 4 ? 1 : 0;
      parts.push(
        svg("rect", {
          class: `risk${move.status === "lost" ? " lost" : ""}${move.probability > 0 ? "" : " none"}`,
          fill: probabilityPaint(move.probability).background,
          x: LEFT + index * this.slot + gap / 2,
          y: y(0) - height,
          width: this.slot - gap,
          height,
        }),
      );
    });
    parts.push(
      svg("text", { x: LEFT, y: HEIGHT - 3 }, "1"),
      svg("text", { x: WIDTH, y: HEIGHT - 3, "text-anchor": "end" }, String(Math.max(LEAST_SLOTS, moves.length))),
    );
    const risks = moves.filter((move) => move.probability > 0);
    const survival = moves.reduce((product, move) => product * (1 - move.probability), 1);
    const text = moves.length
      ? risks.length ? `${risks.length} of ${counted(moves.length, "move")} at a risk; chance to survive them: ${percent(survival)}.` : `${counted(moves.length, "move")} without a risk.`
      : "No moves yet.";
    this.drawing.replaceChildren(svg("title", {}, text), ...parts);
    this.summary.textContent = text;
  }
}
