// An object store: put, get, list, delete, watch, links, metadata, seal.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { all, failure, steady, withJetStream } from "../common.mjs";

const BIG = new Uint8Array(300_000).map((_, i) => (i * 7919) % 251);
const digest = (bytes) => createHash("sha256").update(bytes).digest("hex");
const stream = (bytes) => new ReadableStream({
  start(controller) {
    controller.enqueue(bytes);
    controller.close();
  },
});
const state = ({ bucket, description, ttl, storage, replicas, sealed, size, backingStore, streamInfo }) => steady({
  bucket, description, ttl, storage, replicas, sealed, size: size > 0, backingStore, config: streamInfo.config,
});

async function read(store, name) {
  const { info, data, error } = await store.get(name);
  const chunks = await all(data);
  assert.equal((await error) ?? null, null);
  return { info: steady(info), hash: digest(Buffer.concat(chunks)) };
}

// The second generation marks the end of the past with a null.
async function watched(watcher, count) {
  const seen = [];
  for await (const e of watcher) {
    if (e !== null) seen.push([e.name, e.deleted, e.revision]);
    if (seen.length === count) break;
  }
  return seen;
}

async function writing(store, told, headers) {
  const h = headers();
  h.set("Kind", "test");
  const meta = { name: "big one", description: "bytes", headers: h, metadata: { a: "b" }, options: { max_chunk_size: 65_536 } };
  const put = await store.put(meta, stream(BIG));
  told.put = steady({ ...put, headers: [...put.headers] });
  assert.deepEqual([put.chunks, put.size], [5, BIG.length]);
  told.read = await read(store, "big one");
  assert.equal(told.read.hash, digest(BIG));
  delete told.read.info.headers;
  told.blob = steady(await store.putBlob({ name: "small" }, new TextEncoder().encode("hello")));
  told.blobBack = Buffer.from(await store.getBlob("small")).toString();
  assert.equal(told.blobBack, "hello");
  told.emptyPut = steady(await store.putBlob({ name: "empty" }, new Uint8Array(0)));
  told.emptyBack = (await store.getBlob("empty")).length;
  told.nothing = [await store.get("nothing"), await store.getBlob("nothing"), await store.info("nothing")];
  told.replaced = steady(await store.putBlob({ name: "small" }, new TextEncoder().encode("bye")));
  told.replacedBack = Buffer.from(await store.getBlob("small")).toString();
  assert.equal(told.replacedBack, "bye");
  const late = { previousRevision: 1 };
  told.stale = await failure(store.putBlob({ name: "small" }, new TextEncoder().encode("no"), late));
}

async function linking(store, other, told) {
  const link = await store.link("link", await store.info("big one"));
  told.link = steady({ ...link, headers: null });
  assert.equal((await read(store, "link")).hash, digest(BIG));
  told.storeLink = steady(await store.linkStore("whole", other));
  told.storeLinkRead = await failure(store.get("whole"));
  told.linkToLink = await failure(async () => store.link("second", await store.info("link")));
  told.linkToNothing = await failure(async () => store.link("third", { ...(await store.info("small")), deleted: true }));
}

export default async function (context) {
  return withJetStream(context, async ({ nc }) => {
    const told = {};
    const manager = context.stores(nc);
    const store = await manager.create("objects", { description: "store", metadata: { own: "er" } });
    const other = await manager.create("others", { storage: "memory" });
    await writing(store, told, context.headers);
    await linking(store, other, told);
    const updates = await store.watch();
    const everything = await store.watch({ includeHistory: true });
    told.updated = steady(await store.update("small", { name: "renamed", description: "new" }));
    told.renamed = [await store.info("small"), steady(await store.info("renamed"))];
    told.deleted = steady(await store.delete("renamed"));
    told.updates = await watched(updates, 2);
    told.everything = await watched(everything, 7);
    assert.deepEqual(told.updates, told.everything.slice(5));
    told.listed = (await store.list()).map((each) => [each.name, each.size, each.deleted]).sort();
    assert.deepEqual(told.listed.map((each) => each[0]), ["big one", "empty", "link", "whole"]);
    told.deletedInfo = steady(await store.info("renamed"));
    told.gone = await store.get("renamed");
    told.status = state(await store.status());
    told.stores = (await all(await manager.list())).map((each) => each.bucket).filter((name) => name.startsWith("o")).sort();
    assert.deepEqual(told.stores, ["objects", "others"]);
    told.sealed = state(await store.seal());
    assert.equal(told.sealed.sealed, true);
    told.afterSeal = await failure(store.putBlob({ name: "late" }, new Uint8Array(3)));
    assert.ok(told.afterSeal);
    told.afterSealRead = (await read(store, "big one")).hash === digest(BIG);
    told.destroyed = [await store.destroy(), await other.destroy()];
    return told;
  });
}
