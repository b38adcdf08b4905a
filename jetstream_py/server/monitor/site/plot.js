// Lines over the last hour, drawn as SVG.

import { h, setText, svg } from "./dom.js";
import { clock } from "./format.js";

const WIDTH = 480;
const HEIGHT = 150;
const LEFT = 52;
const BOTTOM = 20;
const TOP = 8;
const HOUR = 3_600_000;
const GAP = 4; // a hole of so many intervals is a hole in the line

/** Differences of a counter per second; a restart of the server begins again at zero. */
export function rate(times, values) {
  return values.map((value, i) => {
    if (!i) return NaN;
    const seconds = (times[i] - times[i - 1]) / 1000;
    return seconds > 0 ? Math.max(0, value - values[i - 1]) / seconds : NaN;
  });
}

export class Plot {
  /** series: [{ name, values(samples) }]; `format` writes a value, `binary` is for sizes. */
  constructor({ title, series, format, binary = false }) {
    this.binary = binary;
    this.title = title;
    this.series = series;
    this.format = format;
    this.canvas = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
    this.legend = h("p", { class: "legend" }, series.map((each, i) =>
      h("span", { class: `series-${i}` }, each.name)));
    this.value = h("span", { class: "reading" });
    this.element = h("figure", { class: "plot" },
      h("figcaption", {}, h("strong", {}, title), this.value), this.canvas, this.legend);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.read(this.times.length - 1));
    this.times = [];
    this.lines = [];
  }

  update({ interval, samples }) {
    this.times = samples.time;
    this.lines = this.series.map((each) => each.values(samples));
    this.end = this.times.at(-1) ?? Date.now();
    const highest = this.lines.flat().reduce((most, value) => (value > most ? value : most), 0);
    const top = this.binary ? power(highest) : nice(highest);
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
    this.canvas.replaceChildren(
      ...[0, 0.5, 1].map((part) => this.grid(part * top, y(part * top))),
      ...[60, 45, 30, 15, 0].map((minutes) => this.tick(minutes)),
      ...this.lines.map((line, i) =>
        svg("path", { class: `series-${i}`, d: this.path(line, y, interval * 1000 * GAP) })),
      svg("line", { class: "cursor", y1: TOP, y2: HEIGHT - BOTTOM, x1: -9, x2: -9 }),
    );
    const now = this.lines.map((line, i) =>
      `${this.series[i].name} now ${this.format(line.at(-1) ?? NaN)}`);
    this.canvas.setAttribute("aria-label",
      `${this.title} over the last hour: ${now.join(", ")}, at most ${this.format(highest)}`);
    this.read(this.times.length - 1);
  }

  x(time) {
    return LEFT + (WIDTH - LEFT - 4) * (1 - (this.end - time) / HOUR);
  }

  path(line, y, hole) {
    let steps = "";
    let before = -Infinity;
    line.forEach((value, i) => {
      const time = this.times[i];
      if (Number.isNaN(value) || this.end - time > HOUR) return;
      steps += `${time - before > hole ? "M" : "L"}${this.x(time).toFixed(1)} ${y(value).toFixed(1)}`;
      before = time;
    });
    return steps;
  }

  grid(value, y) {
    return svg("g", { class: "grid" },
      svg("line", { x1: LEFT, x2: WIDTH, y1: y, y2: y }),
      svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, this.format(value)));
  }

  tick(minutes) {
    const x = this.x(this.end - minutes * 60_000);
    const anchor = minutes === 60 ? "start" : minutes ? "middle" : "end";
    return svg("g", { class: "grid" },
      svg("text", { x, y: HEIGHT - 4, "text-anchor": anchor }, minutes ? `−${minutes} min` : "now"));
  }

  /** Show the values under the pointer. */
  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    const time = this.end - HOUR * (1 - (x - LEFT) / (WIDTH - LEFT - 4));
    const after = this.times.findIndex((each) => each >= time);
    this.read(after < 0 ? this.times.length - 1 : after, true);
  }

  read(i, pointed = false) {
    const cursor = this.canvas.querySelector(".cursor");
    const x = pointed ? this.x(this.times[i]) : -9;
    for (const name of ["x1", "x2"]) cursor?.setAttribute(name, x);
    const values = this.lines.map((line) => this.format(line[i] ?? NaN)).join(" · ");
    const time = pointed ? `${clock(this.times[i]).slice(11, 19)}  ` : "";
    setText(this.value, i < 0 ? "" : time + values);
  }
}

/** The next power of two, from a KiB on. */
function power(value) {
  return 2 ** Math.max(10, Math.ceil(Math.log2(Math.max(1, value))));
}

/** The next number that an axis may end with. */
function nice(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}
