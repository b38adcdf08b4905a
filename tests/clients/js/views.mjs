// A member of the matrix of views (see tests/views/members.py): a call a line, an answer a line.
import { createInterface } from "node:readline";
import { jetstream } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import { connect, headers } from "@nats-io/transport-node";
import { all } from "./common.mjs";

let nc, script, buckets, stores;
const latin1 = (text) => new Uint8Array(Buffer.from(text, "latin1"));
const text = (bytes) => Buffer.from(bytes).toString("latin1");
const content = (size) => new Uint8Array(size).map((_, i) => ((i % 251) * 7919) % 251);
const history = (e) => [e.revision, e.operation, text(e.value)];

const calls = {
  async begin(url, given) {
    nc = await connect({ servers: url });
    script = given;
    buckets = new Kvm(jetstream(nc));
    stores = new Objm(jetstream(nc));
  },
  async write(bucket) {
    const kv = await buckets.create(bucket, { history: script.history, markerTTL: script.marker * 1000 });
    for (const [verb, key, value, more] of script.steps) {
      if (verb === "delete" || verb === "purge") await kv[verb](key);
      else if (verb === "create" && more) await kv.create(key, latin1(value), `${more}s`);
      else await kv[verb](key, latin1(value), more);
    }
  },
  async read(bucket) {
    const kv = await buckets.open(bucket);
    const { seen } = script;
    const told = { keys: (await all(await kv.keys())).sort(), values: {}, deleted: {}, history: {}, watch: [] };
    for (const key of Object.keys(seen.values)) {
      const entry = await kv.get(key);
      told.values[key] = [entry.revision, text(entry.value)];
    }
    for (const key of Object.keys(seen.deleted)) told.deleted[key] = (await kv.get(key)).operation;
    for (const key of Object.keys(seen.history)) {
      told.history[key] = (await all(await kv.history({ key }))).map(history);
    }
    const watcher = await kv.watch();
    for await (const e of watcher) {
      told.watch.push([e.key, e.revision, e.operation]);
      if (told.watch.length === seen.watch.length) break;
    }
    const status = await kv.status();
    told.status = [status.values, status.history, Math.round(status.markerTTL / 1000)];
    return told;
  },
  async write_brief(bucket) {
    const kv = await buckets.create(bucket, { markerTTL: script.marker * 1000 });
    await kv.create("brief", new Uint8Array(0), "1s");
  },
  async await_marker(bucket) {
    const kv = await buckets.open(bucket);
    for await (const e of await kv.watch()) {
      if (e.operation !== "PUT") return [e.operation, e.revision];
    }
  },
  async put(bucket) {
    const store = await stores.create(bucket);
    for (const [name, size, description] of script.objects) {
      const kinds = headers();
      for (const [key, values] of Object.entries(script.headers)) for (const each of values) kinds.append(key, each);
      await store.putBlob({ name, description, headers: kinds }, content(size));
    }
    await store.delete("removed");
  },
  async list(bucket) {
    const store = await stores.open(bucket);
    const told = (await store.list()).map((e) => [e.name, e.size, e.chunks, e.digest.replace(/=+$/, ""), e.description ?? ""]);
    const one = (await store.info("one")).headers;
    const kinds = Object.fromEntries(one.keys().map((key) => [key, one.values(key)]));
    return [told.sort((a, b) => (a[0] < b[0] ? -1 : 1)), kinds];
  },
  async link(bucket) {
    const store = await stores.create(bucket);
    await store.link("link", await store.putBlob({ name: "one" }, content(1)));
    await store.putBlob({ name: "ä" }, content(1));
  },
  async get(bucket, name) {
    const bytes = await (await stores.open(bucket)).getBlob(name);
    return Buffer.from(bytes).toString("base64");
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, args } = JSON.parse(line);
  let answer;
  try {
    answer = { result: (await calls[call](...args)) ?? null };
  } catch (error) {
    answer = { error: `${call}: ${error.stack}` };
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
