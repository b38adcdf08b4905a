// Ordered consumers: nothing is missed and nothing comes twice, also when the server's side is lost.
import assert from "node:assert/strict";
import { delivered, failure, filled, withJetStream } from "../common.mjs";

const nameless = (m) => ({ ...delivered(m), consumer: "?" });

async function taken(messages, count, during = async () => {}) {
  const seen = [];
  for await (const m of messages) {
    seen.push(m);
    await during(m);
    if (seen.length === count) break;
  }
  return seen;
}

export default async function (context) {
  const { generation } = context;
  return withJetStream(context, async ({ js, jsm }) => {
    const told = {};
    await filled({ js, jsm }, "ordered", ["a", "b"], 40);
    const plain = await js.consumers.get("ordered");
    const one = await plain.next({ expires: 1000 });
    told.next = nameless(one);
    assert.equal(one.seq, 1);
    const fetched = await plain.fetch({ max_messages: 4, expires: 1000 });
    told.fetched = (await taken(fetched, 4)).map((m) => m.seq);
    assert.deepEqual(told.fetched, [2, 3, 4, 5]);

    const filters = generation === "v2" ? { filterSubjects: "ordered.b" } : { filter_subjects: "ordered.b" };
    const filtered = await js.consumers.get("ordered", filters);
    const all = await taken(await filtered.consume({ max_messages: 7 }), 20);
    told.filtered = all.map(nameless);
    assert.deepEqual(all.map((m) => m.seq), Array.from({ length: 20 }, (_, i) => 2 * i + 2));

    const bySequence = { deliver_policy: "by_start_sequence", opt_start_seq: 30 };
    const tail = await js.consumers.get("ordered", bySequence);
    told.tail = (await taken(await tail.consume(), 11)).map((m) => m.seq);
    assert.deepEqual(told.tail, Array.from({ length: 11 }, (_, i) => i + 30));
    const last = await js.consumers.get("ordered", { deliver_policy: "last" });
    told.last = (await taken(await last.consume(), 1)).map((m) => m.seq);
    assert.deepEqual(told.last, [40]);

    const broken = await js.consumers.get("ordered");
    const lost = async (m) => {
      if (m.seq === 3) await jsm.consumers.delete("ordered", m.info.consumer);
    };
    const messages = await broken.consume({ max_messages: 3, expires: 1000, idle_heartbeat: 500 });
    told.recovered = (await taken(messages, 12, lost)).map((m) => m.seq);
    assert.deepEqual(told.recovered, Array.from({ length: 12 }, (_, i) => i + 1));
    told.noStream = await failure(js.consumers.get("ordered-none"));
    await jsm.streams.delete("ordered");
    return told;
  });
}
