// The face of the button above the board: happy, tense, won or lost.
import { svg } from "./dom.js";

const EYES = '<circle cx="11.5" cy="13" r="1.9"/><circle cx="20.5" cy="13" r="1.9"/>';
const LINE = 'fill="none" stroke="#2b2412" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"';
const SHAPES = {
  happy: `${EYES}<path d="M10.5 19.5c2.5 4 8.5 4 11 0" ${LINE}/>`,
  tense: `${EYES}<circle cx="16" cy="21.5" r="2.8" ${LINE}/>`,
  won: `<path d="M6.5 11h19l-1.5 4.5c-.5 1.5-5.5 1.5-6 0L17 12.5h-2l-1 3c-.5 1.5-5.5 1.5-6 0z"/><path d="M10.5 19.5c2.5 4 8.5 4 11 0" ${LINE}/>`,
  lost: `<path d="M9.5 11l4 4m0-4-4 4m9-4 4 4m0-4-4 4M10.5 23c2.5-4 8.5-4 11 0" ${LINE}/>`,
};

/** Draws one of the faces into the button. */
export function showFace(button, name) {
  if (button.dataset.face === name) return;
  button.dataset.face = name;
  const drawing = svg("svg", { viewBox: "0 0 32 32", "aria-hidden": "true" });
  drawing.innerHTML = `<circle cx="16" cy="16" r="14" fill="#ffd94a" stroke="#2b2412" stroke-width="1.5"/><g fill="#2b2412">${SHAPES[name]}</g>`;
  button.replaceChildren(drawing);
}
