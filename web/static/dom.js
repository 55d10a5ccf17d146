// Small helpers to make elements and to find those that the HTML names with data-ref.

/** A new element; properties are set as properties, those with a dash as attributes. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.includes("-") || name === "role") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children);
  return made;
}

/** A new SVG element with these attributes. */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The elements under `root` by their data-ref. */
export function references(root) {
  return Object.fromEntries([...root.querySelectorAll("[data-ref]")].map((found) => [found.dataset.ref, found]));
}

/** Calls `action` once, `wait` milliseconds after the last of several calls. */
export function debounced(action, wait) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}

/** Copies text and says so on the button for a moment. */
export async function copyFrom(button, text) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    window.prompt("Copy this:", text);
    return;
  }
  setTimeout(() => (button.textContent = label), 1200);
}

/** Whether the key goes to a field where people type or choose. */
export function isTyping(event) {
  return event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
}
