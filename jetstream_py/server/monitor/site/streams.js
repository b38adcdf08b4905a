// Streams, buckets and consumers: what /jsz tells of them.

import { path } from "./api.js";
import { h, setText } from "./dom.js";
import { ago, bytes, count, duration } from "./format.js";
import { Messages } from "./messages.js";
import { Table } from "./table.js";

const BUCKET = "KV_";

/** All streams of all accounts, each with the id of its account and what people call it. */
export function streams(jsz) {
  return (jsz.account_details ?? []).flatMap(({ id, name, stream_detail = [] }) =>
    stream_detail.map((stream) => ({ account: id, accountName: name, ...stream })));
}

export function consumers(jsz) {
  return streams(jsz).flatMap((stream) =>
    (stream.consumer_detail ?? []).map((each) => ({ account: stream.account, ...each })));
}

const isBucket = (stream) => stream.name.startsWith(BUCKET);
const key = (...parts) => parts.join("\n");

function link(kind, name, row) {
  return h("a", { href: `#/${kind}/${path(row.account, name)}` }, name);
}

export function consumerTable(label, everywhere) {
  const where = [
    { name: "Stream", value: (row) => row.stream_name, cell: (row) => link("streams", row().stream_name, row()) },
  ];
  const columns = [
    { name: "Consumer", value: (row) => row.name },
    ...(everywhere ? where : []),
    { name: "Behind", value: (row) => row.num_pending, text: (row) => count(row.num_pending), numeric: true },
    { name: "Unacked", value: (row) => row.num_ack_pending, text: (row) => count(row.num_ack_pending), numeric: true },
    { name: "Redelivered", value: (row) => row.num_redelivered, text: (row) => count(row.num_redelivered), numeric: true },
    { name: "Waiting pulls", value: (row) => row.num_waiting, text: (row) => count(row.num_waiting), numeric: true },
    { name: "Delivered", value: (row) => row.delivered.stream_seq, text: (row) => count(row.delivered.stream_seq), numeric: true },
    { name: "Last active", value: (row) => row.delivered.last_active ?? "", text: (row) => ago(row.delivered.last_active ?? "") },
  ];
  return new Table({
    label,
    columns,
    key: (row) => key(row.account, row.stream_name, row.name),
    empty: "No consumers yet. Make one: nats consumer add",
    sort: everywhere ? 2 : 1,
    descending: true,
  });
}

const number = (name, from) => ({ name, value: from, text: (row) => count(from(row)), numeric: true });

const STATE = [
  number("Messages", (row) => row.state.messages),
  { name: "Size", value: (row) => row.state.bytes, text: (row) => bytes(row.state.bytes), numeric: true },
];

const LAST = { name: "Last message", value: (row) => row.state.last_ts, text: (row) => ago(row.state.last_ts) };
const ACCOUNT = { name: "Account", value: (row) => row.accountName };

const OFF = "JetStream is off. Start the server with -js to store messages.";

/** The list of streams, or of those that are buckets. */
class List {
  needs = ["jsz"];

  constructor(title, columns, wanted, empty) {
    this.wanted = wanted;
    this.empty = empty;
    const rows = (row) => key(row.account, row.name);
    this.table = new Table({ label: title, columns, key: rows, empty });
    this.element = h("div", {}, h("h2", {}, title), this.table.element);
  }

  update({ jsz }) {
    this.table.empty = jsz.disabled ? OFF : this.empty;
    this.table.update(streams(jsz).filter(this.wanted));
  }
}

export class Streams extends List {
  constructor() {
    const columns = [
      { name: "Stream", value: (row) => row.name, cell: (row) => link("streams", row().name, row()) },
      ACCOUNT,
      ...STATE,
      number("Subjects", (row) => row.state.num_subjects ?? 0),
      number("Consumers", (row) => row.state.consumer_count),
      LAST,
    ];
    super("Streams", columns, () => true, "No streams yet. Make one: nats stream add");
  }
}

const bucketOf = (row) => row.name.slice(BUCKET.length);

export class Buckets extends List {
  constructor() {
    const columns = [
      { name: "Bucket", value: bucketOf, cell: (row) => link("buckets", bucketOf(row()), row()) },
      ACCOUNT,
      number("Keys", (row) => row.state.num_subjects ?? 0),
      ...STATE.slice(1),
      LAST,
    ];
    super("Buckets", columns, isBucket, "No key-value buckets yet. Make one: nats kv add");
  }
}

// -- one of them ------------------------------------------------------------------------------------

const limit = (n, format = count) => (n > 0 ? format(n) : "no limit");
const seconds = (ns) => duration(ns / 1e9);

function facts({ state, config = {} }) {
  return [
    ["Subjects", (config.subjects ?? []).join(", ") || "–"],
    ["Messages", count(state.messages)],
    ["Size", bytes(state.bytes)],
    ["Sequences", `${count(state.first_seq)} to ${count(state.last_seq)}`],
    ["First message", ago(state.first_ts)],
    ["Last message", ago(state.last_ts)],
    ["Storage", config.storage ?? "–"],
    ["Retention", config.retention ?? "–"],
    ["Max messages", limit(config.max_msgs)],
    ["Max size", limit(config.max_bytes, bytes)],
    ["Max age", limit(config.max_age, seconds)],
    ["Max per subject", limit(config.max_msgs_per_subject)],
  ];
}

/** What a stream and a bucket have in common: facts that change, and a way to look into it. */
class Detail {
  needs = ["jsz", "config"];

  constructor(account, stream, title, parts) {
    this.account = account;
    this.stream = stream;
    this.facts = h("dl", { class: "facts" });
    this.gone = h("p", { class: "empty", hidden: true }, "There is no such stream any more.");
    this.element = h("div", {}, title, this.gone, this.facts, ...parts);
  }

  update({ jsz }) {
    const stream = streams(jsz).find((each) => each.account === this.account && each.name === this.stream);
    this.gone.hidden = Boolean(stream);
    if (!stream) return;
    const found = facts(stream);
    if (!this.facts.children.length) {
      this.facts.append(...found.map(([name]) => h("div", {}, h("dt", {}, name), h("dd"))));
    }
    found.forEach(([, value], i) => setText(this.facts.children[i].lastChild, value));
    this.consumers?.update((stream.consumer_detail ?? []).map((each) => ({ account: this.account, ...each })));
  }
}

const heading = (kind, href, name) =>
  h("h2", {}, h("a", { href }, kind), " / ", h("span", { class: "name" }, name));

export class Stream extends Detail {
  constructor(account, name, query) {
    const table = consumerTable("Consumers of the stream", false);
    const messages = new Messages({
      what: "messages",
      page: `streams/${path(account, name)}/messages`,
      message: `streams/${path(account, name)}/messages`,
      filter: { name: "subject", hint: "Subject, like orders.>", value: query.get("subject") ?? "" },
      anywhere: true,
    });
    super(account, name, heading("Streams", "#/streams", name),
      [h("h3", {}, "Consumers"), table.element, h("h3", {}, "Messages"), messages.element]);
    this.consumers = table;
  }
}

export class Bucket extends Detail {
  constructor(account, name) {
    const stream = BUCKET + name;
    const keys = new Messages({
      what: "keys",
      page: `buckets/${path(account, name)}/keys`,
      message: `streams/${path(account, stream)}/messages`,
      filter: { name: "filter", hint: "Key, like app.>", value: "" },
      strip: /^\$KV\.[^.]+\./,
      history: (subject) => `#/streams/${path(account, stream)}?subject=${encodeURIComponent(subject)}`,
    });
    super(account, stream, heading("Buckets", "#/buckets", name), [h("h3", {}, "Keys"), keys.element]);
  }
}
