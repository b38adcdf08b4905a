// Queue groups: one member of each group gets a message, plain subscribers get all.
export default async function ({ connect, servers }) {
  const nc = await connect({ servers: servers.plain });
  const counts = { a1: 0, a2: 0, a3: 0, b1: 0, plain: 0 };
  const count = (name) => ({ callback: () => counts[name]++ });
  for (const member of ["a1", "a2", "a3"]) nc.subscribe("queue.work", { queue: "a", ...count(member) });
  nc.subscribe("queue.*", { queue: "b", ...count("b1") });
  nc.subscribe("queue.>", count("plain"));
  for (let i = 0; i < 600; i++) nc.publish("queue.work", String(i));
  await nc.flush();
  await nc.close();
  return {
    groupA: counts.a1 + counts.a2 + counts.a3,
    everyMember: Math.min(counts.a1, counts.a2, counts.a3) > 100,
    groupB: counts.b1,
    plain: counts.plain,
  };
}
