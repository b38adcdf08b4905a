// Draining loses nothing that was under way, and ends what it drains.
export default async function ({ connect, failure, servers }) {
  const publisher = await connect({ servers: servers.plain });
  const nc = await connect({ servers: servers.plain });
  let one = 0;
  const drained = nc.subscribe("drain.one", { callback: () => one++ });
  let two = 0;
  nc.subscribe("drain.two", { callback: () => two++ });
  await nc.flush();
  for (let i = 0; i < 500; i++) publisher.publish("drain.one");
  await publisher.flush();
  await drained.drain();
  publisher.publish("drain.one");
  for (let i = 0; i < 500; i++) publisher.publish("drain.two");
  await publisher.flush();
  await nc.drain();
  const closed = await nc.closed();
  const afterwards = await failure(() => nc.publish("drain.two"));
  await publisher.close();
  return { one, two, closed: closed ?? null, isClosed: nc.isClosed(), afterwards };
}
