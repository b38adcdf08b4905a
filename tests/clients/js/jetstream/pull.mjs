// next, fetch by messages and by bytes, consume by iteration and by callback with a refill threshold.
import assert from "node:assert/strict";
import { delivered, failure, filled, steady, withJetStream } from "../common.mjs";

// What a fetch gives, and the error it ends with: the third generation tells that a limit was met.
async function fetched(consumer, options) {
  const messages = [];
  const error = await failure(async () => {
    for await (const m of await consumer.fetch(options)) {
      messages.push(delivered(m));
      await m.ackAck();
    }
  });
  return { messages, error };
}

async function consumed(consumer, count) {
  const messages = await consumer.consume({ max_messages: 10, threshold_messages: 5, expires: 2000 });
  const seen = [];
  for await (const m of messages) {
    seen.push(m.seq);
    await m.ackAck();
    if (seen.length === count) break;
  }
  return seen;
}

async function calledBack(consumer, js) {
  const seen = [];
  let finished;
  const done = new Promise((resolve) => { finished = resolve; });
  const messages = await consumer.consume({
    max_messages: 4,
    callback: (m) => {
      seen.push(m.string());
      m.ack();
      if (seen.length === 20) finished();
    },
  });
  for (let i = 0; i < 20; i++) await js.publish("pull.live", `live ${i}`);
  await done;
  await messages.close();
  return seen;
}

export default async function (context) {
  return withJetStream(context, async ({ js, jsm }) => {
    const told = {};
    await filled({ js, jsm }, "pull", ["a", "b"], 60);
    await jsm.consumers.add("pull", { durable_name: "c", ack_policy: "explicit", max_batch: 100 });
    const consumer = await js.consumers.get("pull", "c");
    const first = await consumer.next({ expires: 1000 });
    told.first = delivered(first);
    assert.deepEqual([first.string(), first.info.pending], ["1", 59]);
    told.acked = await first.ackAck();
    told.fetched = await fetched(consumer, { max_messages: 5, expires: 1000 });
    assert.deepEqual(told.fetched.messages.map((each) => each.data), ["2", "3", "4", "5", "6"]);
    told.bytes = await fetched(consumer, { max_bytes: 400, expires: 1000 });
    const some = told.bytes.messages.length;
    assert.ok(some > 0 && some < 10);
    told.tooMany = await fetched(consumer, { max_messages: 101, expires: 1000 });
    assert.deepEqual(told.tooMany.messages, []);
    told.consumed = await consumed(consumer, 60 - 6 - some);
    assert.equal(told.consumed.at(-1), 60);
    told.empty = await consumer.next({ expires: 1000 });
    assert.equal(told.empty, null);
    told.nothing = await fetched(consumer, { max_messages: 5, expires: 1000 });
    const { num_waiting, ...info } = steady(await consumer.info());
    told.info = info;
    assert.deepEqual([info.num_pending, info.num_ack_pending, info.ack_floor.stream_seq], [0, 0, 60]);
    told.live = await calledBack(consumer, js);
    assert.deepEqual(told.live, Array.from({ length: 20 }, (_, i) => `live ${i}`));
    told.deleted = await consumer.delete();
    told.afterwards = await failure(consumer.next({ expires: 1000 }));
    await jsm.streams.delete("pull");
    return told;
  });
}
