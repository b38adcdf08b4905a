// Elements without markup: texts become text nodes, so nothing that a client sent is ever parsed.

const SVG = "http://www.w3.org/2000/svg";

/** An element. Props: `on` (handlers), `class`, anything else is an attribute; false leaves it out. */
export function h(tag, props = {}, ...children) {
  return build(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return build(document.createElementNS(SVG, tag), props, children);
}

function build(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Set a text only when it changed, so that a reader's selection survives the next look. */
export function setText(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}
