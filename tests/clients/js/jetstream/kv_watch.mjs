// Watchers of a bucket: the past, what follows, several keys, deletes.
import assert from "node:assert/strict";
import { entry } from "./kv.mjs";
import { failure, take, withJetStream } from "../common.mjs";

// Without delta: whether the next update is already stored when this one leaves is chance.
const update = (e) => ({ ...entry(e), delta: null, isUpdate: e.isUpdate ?? null });

export default async function (context) {
  return withJetStream(context, async ({ nc }) => {
    const told = {};
    const manager = context.buckets(nc);
    const kv = await manager.create("watched", { history: 5 });
    for (const [key, value] of [["a", "1"], ["a", "2"], ["b", "1"], ["c.d", "1"]]) await kv.put(key, value);
    await kv.delete("b");
    const watchers = {
      last: [await kv.watch(), 5],
      history: [await kv.watch({ include: "history" }), 7],
      updates: [await kv.watch({ include: "updates" }), 2],
      noDeletes: [await kv.watch({ ignoreDeletes: true }), 3],
      some: [await kv.watch({ key: ["a", "c.>"] }), 3],
      bodiless: [await kv.watch({ headers_only: true, key: "a" }), 2],
      resumed: [await kv.watch({ resumeFromRevision: 4 }), 4],
    };
    await kv.put("a", "3");
    await kv.purge("b");
    for (const [name, [watcher, count]] of Object.entries(watchers)) told[name] = (await take(watcher, count)).map(update);
    const texts = (name) => told[name].map((e) => `${e.operation} ${e.key} ${e.value}`);
    assert.deepEqual(texts("last"), ["PUT a 2", "PUT c.d 1", "DEL b ", "PUT a 3", "PURGE b "]);
    assert.deepEqual(texts("updates"), ["PUT a 3", "PURGE b "]);
    assert.deepEqual(texts("some"), ["PUT a 2", "PUT c.d 1", "PUT a 3"]);
    assert.deepEqual(told.bodiless.map((e) => [e.value, e.length]), [["", 1], ["", 1]]);
    assert.equal(told.history[0].value, "1");
    const empty = await manager.create("empty");
    told.emptyKeys = await take(await empty.keys(), 1);
    told.badWatch = await failure(kv.watch({ key: "bad key" }));
    await kv.destroy();
    await empty.destroy();
    return told;
  });
}
