// The first page: what the server does now and did in the last hour.

import { h, setText } from "./dom.js";
import { brief, bytes, count, duration } from "./format.js";
import { Plot, rate } from "./plot.js";
import { consumerTable, consumers, streams } from "./streams.js";

const perSecond = (name) => (samples) => rate(samples.time, samples[name]);
const level = (name) => (samples) => samples[name];

const PLOTS = [
  {
    title: "Messages per second",
    series: [{ name: "in", values: perSecond("in_msgs") }, { name: "out", values: perSecond("out_msgs") }],
    format: brief,
  },
  {
    title: "Bytes per second",
    series: [{ name: "in", values: perSecond("in_bytes") }, { name: "out", values: perSecond("out_bytes") }],
    format: bytes,
    binary: true,
  },
  {
    title: "Connections",
    series: [{ name: "connections", values: level("connections") }],
    format: brief,
  },
  {
    title: "Stored by streams",
    series: [{ name: "on disk", values: level("storage") }, { name: "in memory", values: level("memory") }],
    format: bytes,
    binary: true,
  },
];

// name, value, what is told below it
const TILES = [
  ["Messages in", (now) => `${brief(now.rate("in_msgs"))}/s`, (now) => `${bytes(now.rate("in_bytes"))}/s`],
  ["Messages out", (now) => `${brief(now.rate("out_msgs"))}/s`, (now) => `${bytes(now.rate("out_bytes"))}/s`],
  ["Connections", (now) => count(now.varz.connections), (now) => `${count(now.varz.total_connections)} since the start`],
  ["Subscriptions", (now) => count(now.varz.subscriptions), () => ""],
  ["Slow consumers", (now) => count(now.varz.slow_consumers), (now) => `${count(now.varz.stale_connections)} stale connections`],
  ["Streams", (now) => count(streams(now.jsz).length), (now) => `${brief(now.jsz.messages)} messages`],
  ["Consumers", (now) => count(now.jsz.consumers), (now) => lag(now.jsz)],
  ["Disk", (now) => bytes(now.jsz.storage), (now) => room(now.jsz)],
  ["Processor", (now) => `${brief(now.varz.cpu)} %`, (now) => `of one of ${now.varz.cores} cores`],
  ["Memory", (now) => bytes(now.varz.mem), (now) => `up ${duration((Date.parse(now.varz.now) - Date.parse(now.varz.start)) / 1000)}`],
];

function lag(jsz) {
  const behind = consumers(jsz).filter((each) => each.num_pending > 0);
  const most = behind.reduce((sum, each) => sum + each.num_pending, 0);
  return behind.length ? `${brief(most)} messages behind` : "none is behind";
}

function room(jsz) {
  const most = jsz.config?.max_storage;
  return most > 0 && most < 2 ** 62 ? `of ${bytes(most)}` : "of streams";
}

export class Overview {
  needs = ["jsz", "history"];

  constructor() {
    this.tiles = TILES.map(([name, value, note]) => {
      const tile = { value, note, big: h("dd", { class: "big" }), small: h("dd", { class: "note" }) };
      tile.element = h("div", { class: "tile" }, h("dt", {}, name), tile.big, tile.small);
      return tile;
    });
    this.slow = this.tiles[4];
    this.plots = PLOTS.map((each) => new Plot(each));
    this.consumers = consumerTable("Consumers, most behind first", true);
    this.element = h("div", {},
      h("h2", {}, "Overview"),
      h("dl", { class: "tiles" }, this.tiles.map((tile) => tile.element)),
      h("h2", {}, "The last hour"),
      h("div", { class: "plots" }, this.plots.map((plot) => plot.element)),
      h("h2", {}, "Consumers"),
      this.consumers.element);
  }

  update(now) {
    for (const tile of this.tiles) {
      setText(tile.big, tile.value(now));
      setText(tile.small, tile.note(now));
    }
    this.slow.element.classList.toggle("alert", now.varz.slow_consumers > 0);
    this.consumers.update(consumers(now.jsz));
    if (now.history !== this.drawn) {
      this.drawn = now.history;
      for (const plot of this.plots) plot.update(now.history);
    }
  }
}
