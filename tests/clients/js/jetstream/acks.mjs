// ack, nak with and without delay, term, working, ackAck, redelivery by ack_wait, max_deliver.
import assert from "node:assert/strict";
import { delivered, filled, steady, withJetStream } from "../common.mjs";

export default async function (context) {
  const { nanos } = context;
  return withJetStream(context, async ({ nc, js, jsm }) => {
    const told = {};
    await filled({ js, jsm }, "acks", ["a"], 1);
    const config = { durable_name: "c", ack_policy: "explicit", ack_wait: nanos(600), max_deliver: 3 };
    await jsm.consumers.add("acks", config);
    const consumer = await js.consumers.get("acks", "c");
    const next = () => consumer.next({ expires: 4000 });
    const advisories = nc.subscribe("$JS.EVENT.ADVISORY.CONSUMER.*.acks.c", { max: 4 });
    await nc.flush();

    const one = await next();
    told.confirmed = [await one.ackAck(), await one.ackAck()];
    // One message at a time: acks and pulls take different ways through nats-server and may overtake.
    await js.publish("acks.a", "2");
    (await next()).nak();
    const again = await next();
    again.nak(1000);
    await js.publish("acks.a", "3");
    const other = await next();
    other.term("enough");
    const delayed = await next();
    told.naked = [again, other, delayed].map(delivered);
    assert.deepEqual(told.naked.map((each) => [each.data, each.deliveryCount]), [["2", 2], ["3", 1], ["2", 3]]);
    delayed.working();
    await delayed.ackAck();
    await js.publish("acks.a", "4");
    told.abandoned = [await next(), await next(), await next()].map(delivered);
    assert.deepEqual(told.abandoned.map((each) => [each.data, each.deliveryCount]), [["4", 1], ["4", 2], ["4", 3]]);
    told.given = await consumer.next({ expires: 1500 });
    assert.equal(told.given, null);
    const { num_waiting, ...info } = steady(await consumer.info());
    told.info = info;
    told.advisories = [];
    for await (const m of advisories) {
      const { type, deliveries, stream_seq, reason } = m.json();
      told.advisories.push([m.subject, type, deliveries, stream_seq, reason ?? ""]);
    }
    assert.deepEqual(told.advisories.map((each) => each[0].split(".")[4]), ["MSG_NAKED", "MSG_NAKED", "MSG_TERMINATED", "MAX_DELIVERIES"]);
    await jsm.streams.delete("acks");
    return told;
  });
}
