// Colours of probabilities (viridis) and of differences (blue to orange), and their legend.
import { element } from "./dom.js";
import { percent, signedPercent } from "./text.js";

// Every 16th colour of viridis (Smith and van der Walt), which colour-blind people and grey prints keep in order.
const VIRIDIS = [
  [68, 1, 84], [72, 24, 106], [71, 45, 123], [66, 64, 134], [59, 82, 139], [51, 99, 141], [44, 114, 142], [38, 130, 142],
  [33, 145, 140], [31, 160, 136], [40, 174, 128], [63, 188, 115], [94, 201, 98], [132, 212, 75], [173, 220, 48],
  [216, 226, 25], [253, 231, 37],
];
const LESS = [33, 102, 172];
const MORE = [217, 95, 2];
const NEUTRAL = { light: [222, 224, 228], dark: [58, 64, 72] };
const DARKEST = 0.15; // of viridis: below this it is so dark that small probabilities look alike
const STEPS = 1000;

const mix = (a, b, share) => a.map((value, index) => Math.round(value + (b[index] - value) * share));

function paint(rgb) {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return { background: `rgb(${rgb.join(", ")})`, ink: luminance > 0.18 ? "dark" : "light" };
}

const probabilityPaints = Array.from({ length: STEPS + 1 }, (_, step) => {
  const place = (DARKEST + (1 - DARKEST) * (step / STEPS)) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return paint(mix(VIRIDIS[below], VIRIDIS[below + 1], place - below));
});

/** {background, ink} of a probability 0 to 1. */
export const probabilityPaint = (value) => probabilityPaints[Math.round(value * STEPS)];

/** Function to {background, ink} of a difference -scale to scale. */
export function differencePaint(scale) {
  const neutral = NEUTRAL[isDark() ? "dark" : "light"];
  return (value) => paint(mix(neutral, value < 0 ? LESS : MORE, Math.min(1, Math.abs(value) / scale)));
}

/** A round number not below the largest difference, so that small disagreements are seen too. */
export function differenceScale(rows) {
  const largest = Math.max(0, ...rows.map((row) => row.reduce((most, value) => Math.max(most, Math.abs(value ?? 0)), 0)));
  return [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75].find((scale) => scale >= largest) ?? 1;
}

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Legend of the probabilities: ramp, ticks and, if wanted, the signs on the cells. */
export function probabilityLegend(hasSigns = true) {
  const ramp = gradient(Array.from({ length: 21 }, (_, step) => probabilityPaint(step / 20).background));
  const signs = element(
    "div",
    { className: "signs" },
    element("span", {}, element("i", { className: "icon safe" }), "proved safe"),
    element("span", {}, element("i", { className: "icon mine" }), "proved mine"),
    element("span", {}, element("i", { className: "ring" }), "best move"),
  );
  return legend("Chance of a mine", ramp, [0, 0.25, 0.5, 0.75, 1].map(percent), hasSigns ? signs : "");
}

/** Legend of the differences. */
export function differenceLegend(scale, nameA, nameB) {
  const paintOf = differencePaint(scale);
  const ramp = gradient([-1, -0.5, 0, 0.5, 1].map((share) => paintOf(share * scale).background));
  const words = element("div", { className: "signs" }, `Orange: ${nameA} fears a mine more. Blue: ${nameB} does.`);
  return legend("First minus second", ramp, [-scale, 0, scale].map(signedPercent), words);
}

function gradient(colours) {
  const ramp = element("div", { className: "ramp" });
  ramp.style.background = `linear-gradient(to right, ${colours.join(", ")})`;
  return ramp;
}

function legend(title, ramp, ticks, more) {
  const marks = element("div", { className: "ticks" }, ...ticks.map((text) => element("span", {}, text)));
  return element("div", { className: "legend" }, element("div", { className: "legend-title" }, title), ramp, marks, more);
}
