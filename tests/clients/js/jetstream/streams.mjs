// Managing streams, publishing with expectations, reading messages back.
import assert from "node:assert/strict";
import { all, failure, steady, withJetStream } from "../common.mjs";

const stored = (m) => (m === null ? null : {
  subject: m.subject, seq: m.seq, data: m.string(), header: steady(Object.fromEntries([...(m.header ?? [])])),
});

async function publishing({ js, headers }) {
  const told = {};
  const h = headers();
  h.set("Color", "red");
  told.first = await js.publish("streams.a", "one", { msgID: "m1", headers: h });
  told.again = await js.publish("streams.a", "one", { msgID: "m1" });
  told.second = await js.publish("streams.b", "two", { expect: { lastSequence: 1, streamName: "streams" } });
  assert.deepEqual([told.first.seq, told.again.duplicate, told.second.seq], [1, true, 2]);
  const wrong = { lastSequence: 9, lastMsgID: "zz", streamName: "other", lastSubjectSequence: 7 };
  for (const [name, value] of Object.entries(wrong)) {
    told[name] = await failure(js.publish("streams.a", "x", { expect: { [name]: value } }));
    assert.ok(told[name], name);
  }
  told.nowhere = await failure(js.publish("streams-nowhere", "x", { timeout: 2000 }));
  assert.ok(told.nowhere);
  return told;
}

async function reading({ jsm, generation }) {
  const told = { get: [] };
  for (const query of [{ seq: 1 }, { last_by_subj: "streams.b" }, { seq: 2, next_by_subj: "streams.*" }]) {
    told.get.push(stored(await jsm.streams.getMessage("streams", query)));
    told.get.push(stored(await jsm.direct.getMessage("streams", query)));
  }
  assert.equal(told.get[0].data, "one");
  const missing = async (api) => {
    const error = await failure(async () => { told.missing = stored(await api.getMessage("streams", { seq: 99 })); });
    return error ?? "null";
  };
  told.gone = [await missing(jsm.streams), await missing(jsm.direct)];
  const last = { multi_last: ["streams.*"] };
  const batches = generation === "v2"
    ? [await jsm.direct.getBatch("streams", last)]
    : [await jsm.direct.getBatch("streams", { seq: 1, batch: 5 }), await jsm.direct.getLastMessagesFor("streams", last)];
  told.batches = [];
  for (const batch of batches) told.batches.push((await all(batch)).map(stored));
  assert.ok(told.batches.every((each) => each.length === 2));
  return told;
}

export default async function (context) {
  return withJetStream(context, async ({ nc, js, jsm }) => {
    const told = {};
    const config = { name: "streams", subjects: ["streams.*"], allow_direct: true, max_msgs_per_subject: 10 };
    told.added = steady(await jsm.streams.add(config));
    told.same = steady(await jsm.streams.add(config));
    told.other = await failure(jsm.streams.add({ ...config, max_msgs: 5 }));
    told.overlap = await failure(jsm.streams.add({ name: "streams2", subjects: ["streams.x"] }));
    told.updated = steady(await jsm.streams.update("streams", { max_msgs: 50, description: "changed" }));
    assert.equal(told.updated.config.max_msgs, 50);
    told.publishing = await publishing({ ...context, js });
    told.reading = await reading({ ...context, jsm });
    told.info = steady(await jsm.streams.info("streams", { subjects_filter: ">", deleted_details: true }));
    assert.deepEqual(told.info.state.subjects, { "streams.a": 1, "streams.b": 1 });
    told.found = await jsm.streams.find("streams.a");
    told.notFound = await failure(jsm.streams.find("streams-nowhere"));
    told.names = await all(jsm.streams.names("streams.>"));
    assert.deepEqual(told.names, ["streams"]);
    told.listed = steady(await all(jsm.streams.list("streams.>")));
    told.deleted = await jsm.streams.deleteMessage("streams", 1);
    told.deletedTwice = await failure(jsm.streams.deleteMessage("streams", 1));
    for (let i = 0; i < 6; i++) await js.publish(`streams.${i % 2}`, "x");
    told.purges = [];
    for (const options of [{ filter: "streams.0", keep: 1 }, { seq: 5 }, { keep: 1 }, {}]) {
      told.purges.push(steady(await jsm.streams.purge("streams", options)));
    }
    assert.deepEqual(told.purges.map((each) => each.purged), [2, 2, 2, 1]);
    const stream = await js.streams.get("streams");
    told.object = [stream.name, steady((await stream.info()).state)];
    const { limits, api } = await jsm.getAccountInfo();
    told.account = [steady(limits), api.level];
    told.removed = await jsm.streams.delete("streams");
    told.removedTwice = await failure(jsm.streams.delete("streams"));
    told.noInfo = await failure(jsm.streams.info("streams"));
    told.badName = await failure(jsm.streams.add({ name: "bad name" }));
    await nc.flush();
    return told;
  });
}
