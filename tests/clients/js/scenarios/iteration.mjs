// Asynchronous iteration and how it ends: by break, by a maximum, by unsubscribing.
export default async function ({ connect, servers }) {
  const nc = await connect({ servers: servers.plain });

  const broken = nc.subscribe("iteration.break");
  for (let i = 0; i < 5; i++) nc.publish("iteration.break", String(i));
  const seen = [];
  for await (const m of broken) {
    seen.push(m.string());
    if (seen.length === 2) break;
  }

  const limited = nc.subscribe("iteration.max", { max: 3 });
  for (let i = 0; i < 10; i++) nc.publish("iteration.max", String(i));
  const three = [];
  for await (const m of limited) three.push(m.string());

  const later = nc.subscribe("iteration.later");
  later.unsubscribe(2);
  for (let i = 0; i < 10; i++) nc.publish("iteration.later", String(i));
  const two = [];
  for await (const m of later) two.push(m.string());

  const reached = nc.subscribe("iteration.reached");
  for (let i = 0; i < 3; i++) nc.publish("iteration.reached", String(i));
  await nc.flush();
  reached.unsubscribe(2);
  nc.publish("iteration.reached", "late");
  await nc.flush();
  const all = [];
  for await (const m of reached) all.push(m.string());

  await nc.close();
  return { seen, three, two, reached: all, closed: limited.isClosed() };
}
