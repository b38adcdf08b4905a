// Batches: atomic ones, fast ones, and objects that are uploaded as fast ones. New in the third generation.
import assert from "node:assert/strict";
import { failure, steady, withJetStream } from "../common.mjs";

async function atomic({ js, jsm }) {
  const told = {};
  await jsm.streams.add({ name: "atomic", subjects: ["atomic.>"], allow_atomic: true });
  const batch = await js.startBatch("atomic.a", "1");
  batch.add("atomic.b", "2");
  await batch.add("atomic.c", "3", { ack: true });
  told.during = (await jsm.streams.info("atomic")).state.messages;
  const { batch: id, ...ack } = await batch.commit("atomic.d", "4");
  assert.equal(id, batch.id);
  told.ack = ack;
  assert.deepEqual([told.during, ack.seq, ack.count], [0, 4, 4]);
  const refused = await js.startBatch("atomic.a", "1", { expect: { lastSequence: 99 } });
  told.refused = await failure(refused.commit("atomic.b", "2"));
  assert.ok(told.refused);
  told.after = (await jsm.streams.info("atomic")).state.messages;
  await jsm.streams.delete("atomic");
  return told;
}

async function fast({ nc, jsm, startFastIngest }) {
  const told = {};
  await jsm.streams.add({ name: "fast", subjects: ["fast.>"], allow_batched: true });
  const batch = await startFastIngest(nc, "fast.a", "1", { allowGaps: false, ackInterval: 10 });
  for (let i = 2; i <= 95; i++) await batch.add("fast.a", `${i}`);
  told.ping = await batch.ping();
  const { batch: id, ...ack } = await batch.last("fast.b", "last");
  assert.equal(id, batch.batch);
  told.ack = ack;
  const other = await startFastIngest(nc, "fast.a", "1", { allowGaps: true });
  await other.add("fast.a", "2");
  const { batch: _, ...end } = await other.end();
  told.end = end;
  assert.deepEqual([ack.count, end.count, told.ping.ackSeq], [96, 2, 90]);
  told.messages = (await jsm.streams.info("fast")).state.messages;
  await jsm.streams.delete("fast");
  return told;
}

async function objects({ nc, stores }) {
  const told = {};
  const store = await stores(nc).create("batched", { allowBatched: true });
  const bytes = new Uint8Array(300_000).map((_, i) => (i * 7919) % 251);
  told.put = steady(await store.putBlob({ name: "big", options: { max_chunk_size: 4096 } }, bytes));
  const back = await store.getBlob("big");
  assert.deepEqual(Buffer.from(back), Buffer.from(bytes));
  told.config = steady((await store.status()).streamInfo.config);
  assert.equal(told.config.allow_batched, true);
  await store.destroy();
  return told;
}

export default async function (context) {
  if (context.generation === "v2") return "not in this generation";
  return withJetStream(context, async (connected) => {
    const known = { ...context, ...connected };
    return { atomic: await atomic(known), fast: await fast(known), objects: await objects(known) };
  });
}
