// Push consumers: the second generation's subscribe with all it can, the third generation's face.
import assert from "node:assert/strict";
import { delivered, failure, filled, steady, take, withJetStream } from "../common.mjs";

const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

async function iterated({ js, consumerOpts, createInbox }) {
  const options = consumerOpts().durable("it").manualAck().ackExplicit().deliverTo(createInbox()).filterSubject("push.a");
  const subscription = await js.subscribe("push.a", options);
  const messages = await take(subscription, 10);
  for (const m of messages) await m.ackAck();
  const info = await subscription.consumerInfo();
  assert.deepEqual([info.num_pending, info.num_ack_pending, info.push_bound ?? false], [0, 0, false]);
  await subscription.destroy();
  return messages.map(delivered);
}

async function called({ js, consumerOpts, createInbox, nc }) {
  const seen = [];
  let finished;
  const done = new Promise((resolve) => { finished = resolve; });
  const options = consumerOpts().ackAll().deliverTo(createInbox()).startSequence(5).callback((error, m) => {
    if (error !== null) return;
    seen.push(m.seq);
    m.ack();
    if (m.seq === 20) finished();
  });
  const subscription = await js.subscribe("push.>", options);
  await done;
  await nc.flush();
  assert.deepEqual(seen, numbers(5, 20));
  await subscription.destroy();
  return seen;
}

async function grouped({ js, jsm, consumerOpts, nc }) {
  const counts = [0, 0, 0];
  const options = (member) => consumerOpts().durable("group").queue("group").ackExplicit().deliverTo("push-to-group")
    .callback((error, m) => { counts[member]++; m.ack(); });
  const subscriptions = [];
  for (const member of [0, 1, 2]) subscriptions.push(await js.subscribe("push.>", options(member)));
  while ((await jsm.consumers.info("push", "group")).ack_floor.stream_seq < 20);
  const info = await jsm.consumers.info("push", "group");
  assert.equal(info.push_bound, true);
  for (let i = 0; i < 100; i++) await js.publish("push.c", "x");
  while ((await jsm.consumers.info("push", "group")).ack_floor.stream_seq < 120);
  assert.equal(counts[0] + counts[1] + counts[2], 120);
  assert.ok(Math.min(...counts) > 0, String(counts));
  const taken = await failure(js.subscribe("push.>", consumerOpts().durable("group").ackExplicit().deliverTo("push-to-other")));
  assert.ok(taken);
  await subscriptions[0].destroy();
  await nc.flush();
  return { info: steady({ ...info, delivered: null, ack_floor: null, num_ack_pending: null }), taken };
}

async function flowControlled({ js, jsm, consumerOpts, createInbox }) {
  await jsm.streams.add({ name: "flow", subjects: ["flow"], storage: "memory" });
  for (let i = 0; i < 400; i++) await js.publish("flow", Buffer.alloc(2000));
  const options = consumerOpts().ackNone().flowControl().idleHeartbeat(500).deliverTo(createInbox());
  const messages = await take(await js.subscribe("flow", options), 400);
  assert.deepEqual(messages.map((m) => m.seq), numbers(1, 400));
  const ordered = await js.subscribe("flow", consumerOpts().orderedConsumer());
  const inOrder = await take(ordered, 400);
  assert.deepEqual(inOrder.map((m) => m.seq), numbers(1, 400));
  await jsm.streams.delete("flow");
  return delivered(messages[399]).sequences;
}

async function pulledTheOldWay({ js, consumerOpts }) {
  const options = consumerOpts().durable("old").ackExplicit().manualAck();
  const subscription = await js.pullSubscribe("push.b", options);
  subscription.pull({ batch: 3, expires: 1000 });
  const messages = await take(subscription, 3);
  for (const m of messages) await m.ackAck();
  const one = await js.pull("push", "old", 1000);
  const rest = [];
  for await (const m of js.fetch("push", "old", { batch: 2, no_wait: true })) rest.push(m);
  return [...messages, one, ...rest].map(delivered);
}

async function second(known) {
  return {
    iterated: await iterated(known),
    called: await called(known),
    old: await pulledTheOldWay(known),
    grouped: await grouped(known),
    flow: await flowControlled(known),
  };
}

async function third({ js, jsm, nanos, nc }) {
  const told = {};
  const config = { durable_name: "p", ack_policy: "explicit", deliver_subject: "push-to", idle_heartbeat: nanos(500) };
  await jsm.consumers.add("push", { ...config, flow_control: true });
  const consumer = await js.consumers.getPushConsumer("push", "p");
  const messages = await consumer.consume();
  const heartbeat = (async () => {
    for await (const event of messages.status()) if (event.type === "heartbeat") return event;
  })();
  const seen = await new Promise((resolve) => {
    const list = [];
    (async () => {
      for await (const m of messages) {
        list.push(m);
        await m.ackAck();
        if (list.length === 20) resolve(list);
      }
    })();
  });
  told.seen = seen.map(delivered);
  told.heartbeat = steady(await heartbeat);
  assert.equal(told.heartbeat.lastStreamSequence, 20);
  told.info = steady(await consumer.info());
  await messages.close();
  await nc.flush();
  const ordered = await js.consumers.getPushConsumer("push", { filter_subjects: ["push.a"] });
  told.ordered = (await take(await ordered.consume(), 10)).map((m) => m.seq);
  assert.deepEqual(told.ordered, Array.from({ length: 10 }, (_, i) => 2 * i + 1));
  told.wrongKind = [await failure(js.consumers.get("push", "p")), await failure(js.consumers.getPushConsumer("push", "x"))];
  return told;
}

export default async function (context) {
  return withJetStream(context, async (connected) => {
    await filled(connected, "push", ["a", "b"], 20);
    const known = { ...context, ...connected };
    const told = context.generation === "v2" ? await second(known) : await third(known);
    await connected.jsm.streams.delete("push");
    return told;
  });
}
