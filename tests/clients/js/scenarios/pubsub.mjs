// Publish and subscribe: wildcards, headers, empty and binary payloads, order.
export default async function ({ connect, headers, message, take, servers }) {
  const publisher = await connect({ servers: servers.plain, name: "publisher" });
  const subscriber = await connect({ servers: servers.plain, name: "subscriber" });
  const all = subscriber.subscribe("pubsub.>");
  const one = subscriber.subscribe("pubsub.*.x");
  await subscriber.flush();

  const h = headers();
  h.append("First", "1");
  h.append("Second", "a");
  h.append("Second", "b");
  h.set("Empty", "");
  publisher.publish("pubsub.plain", "hello");
  publisher.publish("pubsub.headers", "with headers", { headers: h });
  publisher.publish("pubsub.a.x", "");
  publisher.publish("pubsub.reply", "r", { reply: "answer.here" });
  publisher.publish("pubsub.bytes", new Uint8Array([0, 255, 13, 10, 7]));
  const first = await take(all, 5);
  const wild = await take(one, 1);

  const ordered = subscriber.subscribe("pubsub.order");
  await subscriber.flush();
  for (let i = 0; i < 1000; i++) publisher.publish("pubsub.order", String(i));
  const numbers = (await take(ordered, 1000)).map((m) => Number(m.string()));

  await publisher.close();
  await subscriber.close();
  return {
    messages: first.slice(0, 4).map(message),
    reply: first[3].reply,
    bytes: [...first[4].data],
    wildcard: wild.map(message),
    inOrder: numbers.length === 1000 && numbers.every((n, i) => n === i),
  };
}
