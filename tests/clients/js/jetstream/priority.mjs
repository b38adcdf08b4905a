// Priority groups: overflow, pinned and prioritized. Only the third generation knows them.
import assert from "node:assert/strict";
import { failure, filled, steady, withJetStream } from "../common.mjs";

async function collect(messages, count) {
  const seen = [];
  for await (const m of messages) {
    seen.push(m.seq);
    await m.ackAck();
    if (seen.length === count) break;
  }
  return seen;
}

async function overflow({ js, jsm }) {
  const told = {};
  await filled({ js, jsm }, "over", ["a"], 8);
  const config = { durable_name: "c", ack_policy: "explicit", priority_policy: "overflow", priority_groups: ["g"] };
  told.added = steady(await jsm.consumers.add("over", config));
  const consumer = await js.consumers.get("over", "c");
  const fetch = (options) => consumer.fetch({ max_messages: 2, expires: 1000, ...options });
  told.below = await collect(await fetch({ group: "g", min_pending: 100 }));
  told.above = await collect(await fetch({ group: "g", min_pending: 5 }));
  told.noGroup = await failure(async () => collect(await fetch({})));
  told.otherGroup = await failure(async () => collect(await fetch({ group: "h" })));
  assert.deepEqual([told.below, told.above], [[], [1, 2]]);
  assert.ok(told.noGroup && told.otherGroup);
  await jsm.streams.delete("over");
  return told;
}

async function pinned({ js, jsm, nanos }) {
  const told = {};
  await filled({ js, jsm }, "pinned", ["a"], 4);
  const groups = { priority_policy: "pinned_client", priority_groups: ["g"], priority_timeout: nanos(30_000) };
  await jsm.consumers.add("pinned", { durable_name: "c", ack_policy: "explicit", ...groups });
  const consumer = await js.consumers.get("pinned", "c");
  const one = await consumer.consume({ group: "g", max_messages: 2, expires: 5000 });
  const events = [];
  const unpinned = (async () => {
    for await (const { type } of one.status()) {
      if (type.startsWith("consumer_")) events.push(type);
      if (type === "consumer_unpinned") return;
    }
  })();
  told.one = await collectOpen(one, 4);
  assert.deepEqual(told.one, [1, 2, 3, 4]);
  const other = await (await js.consumers.get("pinned", "c")).consume({ group: "g", max_messages: 2, expires: 5000 });
  const waiting = collectOpen(other, 1);
  const info = await jsm.consumers.info("pinned", "c");
  told.info = info.priority_groups.map(({ group, pinned_client_id }) => [group, Boolean(pinned_client_id)]);
  await jsm.consumers.unpin("pinned", "c", "g");
  await js.publish("pinned.a", "5");
  told.other = await waiting;
  assert.deepEqual(told.other, [5]);
  await unpinned;
  told.events = events;
  assert.deepEqual(events, ["consumer_pinned", "consumer_unpinned"]);
  one.stop();
  other.stop();
  told.unknown = await failure(jsm.consumers.unpin("pinned", "c", "h"));
  await jsm.streams.delete("pinned");
  return told;
}

// Like `collect`, but the consume goes on afterwards.
function collectOpen(messages, count) {
  const seen = [];
  return new Promise((resolve, reject) => {
    (async () => {
      for await (const m of messages) {
        seen.push(m.seq);
        await m.ackAck();
        if (seen.length === count) resolve(seen);
      }
    })().catch(reject);
  });
}

async function prioritized({ js, jsm, nc }) {
  const told = {};
  await jsm.streams.add({ name: "prio", subjects: ["prio.>"] });
  const groups = { priority_policy: "prioritized", priority_groups: ["g"] };
  told.added = steady(await jsm.consumers.add("prio", { durable_name: "c", ack_policy: "explicit", ...groups }));
  const seen = [];
  const listen = async (priority) => {
    const consumer = await js.consumers.get("prio", "c");
    const options = { group: "g", priority, max_messages: 10, expires: 5000 };
    return consumer.consume({ ...options, callback: (m) => { seen.push(priority); m.ack(); } });
  };
  const low = await listen(5);
  const high = await listen(1);
  await nc.flush();
  while ((await jsm.consumers.info("prio", "c")).num_waiting < 2);
  for (let i = 0; i < 5; i++) await js.publish("prio.a", "x");
  while ((await jsm.consumers.info("prio", "c")).ack_floor.stream_seq < 5);
  told.seen = seen;
  assert.deepEqual(seen, [1, 1, 1, 1, 1]);
  await low.close();
  await high.close();
  await jsm.streams.delete("prio");
  return told;
}

export default async function (context) {
  if (context.generation === "v2") return "not in this generation";
  return withJetStream(context, async (connected) => {
    const known = { ...context, ...connected };
    const [over, pin, prio] = await Promise.all([overflow(known), pinned(known), prioritized(known)]);
    return { over, pin, prio };
  });
}
