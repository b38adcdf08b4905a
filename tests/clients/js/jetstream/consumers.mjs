// Managing consumers: every verb of the API and the errors an application meets.
import assert from "node:assert/strict";
import { all, failure, filled, steady, withJetStream } from "../common.mjs";

async function newerVerbs(jsm) {
  const told = {};
  const until = new Date(Date.now() + 3_600_000);
  const paused = await jsm.consumers.pause("cons", "c", until);
  assert.equal(new Date(paused.pause_until).getTime(), until.getTime());
  told.paused = [paused.paused, (await jsm.consumers.info("cons", "c")).paused];
  const resumed = await jsm.consumers.resume("cons", "c");
  told.resumed = [resumed.paused, (await jsm.consumers.info("cons", "c")).paused];
  told.pauseNobody = await failure(jsm.consumers.pause("cons", "nobody", until));
  told.unpin = await failure(jsm.consumers.unpin("cons", "c", "g"));
  return told;
}

export default async function (context) {
  const { generation, nanos } = context;
  return withJetStream(context, async ({ js, jsm }) => {
    const told = {};
    await filled({ js, jsm }, "cons", ["a", "b"], 10);
    const config = { durable_name: "c", ack_policy: "explicit" };
    told.added = steady(await jsm.consumers.add("cons", config));
    assert.equal(told.added.num_pending, 10);
    told.same = steady(await jsm.consumers.add("cons", config));
    told.full = steady(await jsm.consumers.add("cons", {
      durable_name: "full", description: "d", ack_policy: "explicit", ack_wait: nanos(5000), max_deliver: 4,
      backoff: [nanos(100), nanos(200)], filter_subjects: ["cons.a", "cons.b"], max_ack_pending: 7,
      max_waiting: 9, max_batch: 5, max_expires: nanos(10_000), max_bytes: 4096, headers_only: true,
      deliver_policy: "by_start_sequence", opt_start_seq: 3, replay_policy: "instant", sample_freq: "50",
      inactive_threshold: nanos(3_600_000), metadata: { owner: "tests" }, mem_storage: true,
    }));
    assert.equal(told.full.num_pending, 8);
    const push = { durable_name: "push", ack_policy: "none", deliver_subject: "cons-to", flow_control: true };
    told.push = steady(await jsm.consumers.add("cons", { ...push, idle_heartbeat: nanos(1000) }));
    const ephemeral = await jsm.consumers.add("cons", { ack_policy: "none", inactive_threshold: nanos(60_000) });
    told.ephemeral = steady({ ...ephemeral, name: "?", config: { ...ephemeral.config, name: "?" } });
    told.updated = steady(await jsm.consumers.update("cons", "c", { max_deliver: 3, filter_subject: "cons.a" }));
    assert.equal(told.updated.num_pending, 5);
    told.info = steady(await jsm.consumers.info("cons", "c"));
    told.names = (await all(jsm.consumers.list("cons"))).map((each) => each.name).filter((each) => each !== ephemeral.name);
    assert.deepEqual(told.names.sort(), ["c", "full", "push"]);
    told.removed = await jsm.consumers.delete("cons", ephemeral.name);
    const refused = {
      otherPolicy: { ...config, ack_policy: "none" },
      overlap: { durable_name: "x", filter_subjects: ["cons.*", "cons.a"] },
      backoff: { durable_name: "x", ack_policy: "explicit", max_deliver: 1, backoff: [nanos(1), nanos(2)] },
      start: { durable_name: "x", deliver_policy: "by_start_sequence" },
      cycle: { durable_name: "x", deliver_subject: "cons.loop" },
      name: { durable_name: "a.b" },
      replicas: { durable_name: "x", num_replicas: 3 },
    };
    for (const [name, body] of Object.entries(refused)) {
      told[name] = await failure(jsm.consumers.add("cons", body));
      assert.ok(told[name], name);
    }
    told.noStream = await failure(jsm.consumers.add("cons-none", config));
    told.noConsumer = await failure(jsm.consumers.info("cons", "nobody"));
    told.noUpdate = await failure(jsm.consumers.update("cons", "nobody", { max_deliver: 3 }));
    told.notThere = await failure(js.consumers.get("cons", "nobody"));
    told.newer = generation === "v3" ? await newerVerbs(jsm) : null;
    told.removedAgain = await failure(jsm.consumers.delete("cons", ephemeral.name));
    assert.equal((await jsm.streams.info("cons")).state.consumer_count, 3);
    await jsm.streams.delete("cons");
    told.gone = await failure(jsm.consumers.info("cons", "c"));
    return told;
  });
}
