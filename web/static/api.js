// The server's API (web/API.md): one function a request, errors as ApiError.

import { capitalised } from "./text.js";

export class ApiError extends Error {
  constructor(message, status, key, cell) {
    super(capitalised(message) + (/[.!?]$/.test(message) ? "" : "."));
    this.status = status; // 0: the server was not reached
    this.key = key ?? null;
    this.cell = cell ?? null;
  }
}

let unreached = null; // why the server did not answer the last request
const waits = new Map(); // why the server asked to send a request again, by request

/** Sends a request, as often as the server asks for it. */
async function request(method, path, body, signal) {
  const id = {};
  try {
    for (;;) {
      const response = await send(method, path, body, signal);
      const answer = await response.json().catch(() => ({}));
      if (response.ok) return answer;
      const error = new ApiError(answer.error ?? `The server answered with status ${response.status}.`, response.status, answer.key, answer.cell);
      const seconds = response.headers.get("Retry-After");
      if (seconds === null) throw error;
      waits.set(id, error.message);
      announce();
      await pause(1000 * seconds, signal);
    }
  } finally {
    waits.delete(id);
    announce();
  }
}

async function send(method, path, body, signal) {
  try {
    const response = await fetch(`/api/${path}`, {
      method,
      signal,
      keepalive: method === "PUT", // settings are saved when the page is closed too
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    unreached = null;
    return response;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const problem = new ApiError("The server does not answer. Is play.py still running?", 0);
    unreached = problem.message;
    throw problem;
  }
}

/** Tells the page what to show in its banner. */
function announce() {
  const text = unreached ?? [...waits.values()].at(-1) ?? "";
  dispatchEvent(new CustomEvent("server", { detail: { text, isProblem: unreached !== null } }));
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

const game = (id, action) => `games/${encodeURIComponent(id)}${action ? `/${action}` : ""}`;

export const api = {
  config: () => request("GET", "config"),
  current: () => request("GET", "current"),
  newGame: (values) => request("POST", "games", values),
  game: (id) => request("GET", game(id)),
  reveal: (id, cell) => request("POST", game(id, "reveal"), { cell }),
  flag: (id, cell) => request("POST", game(id, "flag"), { cell }),
  chord: (id, cell) => request("POST", game(id, "chord"), { cell }),
  hint: (id, solver, signal) => request("POST", game(id, "hint"), { solver }, signal),
  step: (id, solver) => request("POST", game(id, "step"), { solver }),
  moves: (id) => request("GET", game(id, "moves")),
  goTo: (id, move) => request("POST", game(id, "goto"), { move }),
  solve: (values, signal) => request("POST", "solve", values, signal),
  compare: (values, signal) => request("POST", "compare", values, signal),
  settings: () => request("GET", "settings"),
  saveSettings: (values) => request("PUT", "settings", values),
  statistics: () => request("GET", "statistics"),
  resetStatistics: () => request("DELETE", "statistics"),
};

/** Runs tasks of which only the latest counts: a new one aborts the one before, which then returns undefined. */
export class Latest {
  #controller = null;

  async run(task) {
    this.cancel();
    const controller = (this.#controller = new AbortController());
    try {
      const answer = await task(controller.signal);
      return controller.signal.aborted ? undefined : answer;
    } catch (error) {
      if (controller.signal.aborted) return undefined;
      throw error;
    }
  }

  cancel() {
    this.#controller?.abort();
    this.#controller = null;
  }
}

/** Runs tasks one after the other, in the order in which they came. */
export class Queue {
  #last = Promise.resolve();

  run(task) {
    const result = this.#last.then(task);
    this.#last = result.catch(() => {});
    return result;
  }
}
