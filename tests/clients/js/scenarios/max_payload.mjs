// The biggest message passes, one byte more does not.
export default async function ({ connect, failure, headers, take, servers }) {
  const nc = await connect({ servers: servers.plain });
  const max = nc.info.max_payload;
  const subscription = nc.subscribe("max.payload");
  nc.publish("max.payload", new Uint8Array(max));
  const [biggest] = await take(subscription, 1);
  const tooBig = await failure(() => nc.publish("max.payload", new Uint8Array(max + 1)));
  const h = headers();
  h.set("Count", "too");
  const withHeaders = await failure(() => nc.publish("max.payload", new Uint8Array(max), { headers: h }));
  await nc.close();
  return { max, received: biggest.data.length, tooBig, withHeaders };
}
