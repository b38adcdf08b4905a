// The connections, open and closed.

import { h, setText } from "./dom.js";
import { ago, bytes, count } from "./format.js";
import { Table } from "./table.js";

const LIMIT = 1024;

const number = (name, field, text = count) => ({
  name,
  value: (row) => row[field],
  text: (row) => text(row[field]),
  numeric: true,
});

const COLUMNS = [
  { name: "Id", value: (row) => row.cid, numeric: true },
  { name: "Name", value: (row) => row.name ?? "", text: (row) => row.name ?? "–" },
  { name: "From", value: (row) => `${row.ip}:${row.port}` },
  { name: "User", value: (row) => row.authorized_user ?? "", text: (row) => row.authorized_user ?? "–" },
  { name: "Client", value: (row) => [row.lang, row.version].filter(Boolean).join(" ") || "–" },
  number("Subs", "subscriptions"),
  number("In", "in_msgs"),
  number("Out", "out_msgs"),
  number("Pending", "pending_bytes", bytes),
  { name: "Round trip", value: (row) => row.rtt },
  { name: "Active", value: (row) => row.last_activity, text: (row) => ago(row.last_activity) },
];
const CLOSED = { name: "Closed", value: (row) => row.reason ?? "", text: (row) => `${row.reason}, ${ago(row.stop)}` };

export class Connections {
  needs = ["connz"];

  constructor() {
    const choice = h("select", { "aria-label": "Which connections", on: { change: () => this.choose(choice.value) } },
      h("option", { value: "open" }, "Open"), h("option", { value: "closed" }, "Closed"));
    this.note = h("p", { class: "note" });
    this.place = h("div");
    this.element = h("div", {}, h("h2", {}, "Connections"), h("div", { class: "controls" }, choice), this.note, this.place);
    this.choose("open");
  }

  choose(state) {
    this.path = `/connz?auth=1&limit=${LIMIT}&state=${state}${state === "closed" ? "&sort=stop" : ""}`;
    this.table = new Table({
      label: "Connections",
      columns: state === "closed" ? [...COLUMNS, CLOSED] : COLUMNS,
      key: (row) => row.cid,
      empty: state === "closed" ? "Nobody has left yet." : "Nobody is connected. Try: nats pub hello world",
    });
    this.place.replaceChildren(this.table.element);
    this.changed?.();
  }

  update({ connz }) {
    this.table.update(connz.connections ?? []);
    const { total, num_connections: shown } = connz;
    setText(this.note, total > shown ? `${count(shown)} of ${count(total)}` : "");
  }
}
