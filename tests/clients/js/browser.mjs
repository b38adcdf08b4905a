// What a web application does with the server: the stock client over WebSocket, in a page.
import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { Kvm } from "@nats-io/kv";
import { headers, wsconnect } from "@nats-io/nats-core";

const SIZE = 200_000; // larger than a frame of any browser
const COUNT = 25;

async function requests(nc) {
  nc.subscribe("echo", {
    callback: (error, message) => message.respond(message.data, { headers: message.headers }),
  });
  const sent = headers();
  sent.append("Word", "grüße");
  const payload = Uint8Array.from({ length: SIZE }, (_, i) => (i * 7) % 256);
  const answer = await nc.request("echo", payload, { headers: sent });
  return {
    word: answer.headers.get("Word"),
    same: answer.data.length === SIZE && answer.data.every((byte, i) => byte === payload[i]),
    nobody: await nc.request("nobody.there").catch((error) => error.isNoResponders()),
  };
}

async function streams(nc) {
  const manager = await jetstreamManager(nc);
  await manager.streams.add({ name: "WEB", subjects: ["web.>"] });
  await manager.consumers.add("WEB", { durable_name: "page", ack_policy: AckPolicy.Explicit });
  const js = jetstream(nc);
  const acks = await Promise.all(
    Array.from({ length: COUNT }, (_, i) => js.publish(`web.${i % 3}`, JSON.stringify({ i }))),
  );
  const consumer = await js.consumers.get("WEB", "page");
  const read = [];
  for await (const message of await consumer.consume({ max_messages: 10 })) {
    read.push(message.json().i);
    await message.ackAck();
    if (read.length === COUNT) break;
  }
  const { num_pending, num_ack_pending } = await consumer.info();
  return { acks: acks.map((ack) => ack.seq), read, num_pending, num_ack_pending };
}

async function buckets(nc) {
  const kv = await new Kvm(nc).create("page", { history: 3 });
  await kv.put("before", "1");
  const seen = [];
  const watch = await kv.watch();
  const watched = (async () => {
    for await (const entry of watch) {
      seen.push([entry.key, entry.operation, entry.string()]);
      if (entry.operation === "DEL") break;
    }
  })();
  await kv.put("colour", "blue");
  await kv.put("colour", "green");
  await kv.delete("before");
  await watched;
  return { seen, value: (await kv.get("colour")).string(), gone: (await kv.get("nothing")) === null };
}

window.play = async (options) => {
  const nc = await wsconnect(options);
  const found = { requests: await requests(nc), streams: await streams(nc), buckets: await buckets(nc) };
  await nc.drain();
  return { ...found, closed: nc.isClosed() };
};

window.refused = (options) => wsconnect({ ...options, reconnect: false }).then(
  () => "let in",
  (error) => error.message,
);
