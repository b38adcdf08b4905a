// A bucket: every operation on keys, history, what it tells of itself.
import assert from "node:assert/strict";
import { all, failure, steady, withJetStream } from "../common.mjs";

export const entry = (e) => e && {
  bucket: e.bucket, key: e.key, value: e.string(), revision: e.revision, operation: e.operation, length: e.length,
  delta: e.delta ?? null,
};

const status = ({ bucket, values, history, ttl, size, description, maxValueSize, max_bytes, streamInfo }) => steady({
  bucket, values, history, ttl, size, description, maxValueSize, max_bytes,
  config: streamInfo.config, state: streamInfo.state,
});

async function writing(kv, told) {
  told.put = [await kv.put("a", "1"), await kv.put("a", "2"), await kv.put("b.c", "x")];
  assert.deepEqual(told.put, [1, 2, 3]);
  told.get = [entry(await kv.get("a")), entry(await kv.get("a", { revision: 1 })), await kv.get("nothing")];
  assert.deepEqual(told.get.map((e) => e && e.value), ["2", "1", null]);
  told.otherKey = await kv.get("b.c", { revision: 1 });
  told.created = await kv.create("new", "n");
  told.createdTwice = await failure(kv.create("new", "n"));
  assert.ok(told.createdTwice);
  told.updated = await kv.update("a", "3", 2);
  told.stale = await failure(kv.update("a", "4", 2));
  assert.ok(told.stale);
  await kv.delete("a");
  told.deleted = entry(await kv.get("a"));
  assert.equal(told.deleted.operation, "DEL");
  told.createdAgain = await kv.create("a", "back");
  told.staleDelete = await failure(kv.delete("a", { previousSeq: 1 }));
  await kv.delete("a", { previousSeq: told.createdAgain });
  told.history = (await all(await kv.history({ key: "a" }))).map(entry);
  assert.equal(told.history.length, 6);
  await kv.purge("a");
  told.purged = (await all(await kv.history({ key: "a" }))).map(entry);
  assert.deepEqual(told.purged.map((e) => e.operation), ["PURGE"]);
  told.badKey = [await failure(kv.put("bad key", "x")), await failure(kv.put(".a", "x"))];
}

export default async function (context) {
  return withJetStream(context, async ({ nc, jsm }) => {
    const told = {};
    const manager = context.buckets(nc);
    const kv = await manager.create("bucket", { history: 8, description: "values", max_bytes: 1 << 20 });
    await writing(kv, told);
    for (let i = 0; i < 12; i++) await kv.put("many", String(i));
    told.kept = (await all(await kv.history({ key: "many" }))).map((e) => e.string());
    assert.deepEqual(told.kept, ["4", "5", "6", "7", "8", "9", "10", "11"]);
    told.keys = (await all(await kv.keys())).sort();
    assert.deepEqual(told.keys, ["b.c", "many", "new"]);
    told.someKeys = await all(await kv.keys("b.*"));
    told.whole = (await all(await kv.history())).map(entry);
    told.status = status(await kv.status());
    assert.equal(told.status.values, told.status.state.messages);
    told.listed = (await all(await manager.list())).map((each) => each.bucket).includes("bucket");
    assert.ok(told.listed);
    const small = await manager.create("small", { maxValueSize: 10, storage: "memory" });
    told.tooBig = await failure(small.put("k", "x".repeat(100)));
    assert.ok(told.tooBig);
    told.smallStatus = status(await small.status());
    const again = await manager.open("bucket");
    told.again = entry(await again.get("new"));
    told.destroyed = [await kv.destroy(), await small.destroy()];
    told.stream = await failure(jsm.streams.info("KV_bucket"));
    told.noBucket = await failure(async () => (await manager.open("bucket")).get("a"));
    return told;
  });
}
