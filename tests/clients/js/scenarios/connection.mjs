// What a connection tells: INFO, flush, round trip, statistics, no echo.
const OWN = new Set(["jetstream_py_version"]); // what our INFO has on top

export default async function ({ connect, servers }) {
  const nc = await connect({ servers: servers.plain, name: "me", noEcho: true, pingInterval: 60_000 });
  let echoed = 0;
  nc.subscribe("connection.echo", { callback: () => echoed++ });
  nc.publish("connection.echo", "12345");
  await nc.flush();
  const rtt = await nc.rtt();
  const { inMsgs, inBytes, outMsgs, outBytes } = nc.stats();
  const info = Object.keys(nc.info).filter((key) => !OWN.has(key)).sort();
  const told = { version: nc.info.version, headers: nc.info.headers, max: nc.info.max_payload };
  const loud = await connect({ servers: servers.plain, verbose: true, pedantic: true });
  let heard = 0;
  loud.subscribe("connection.loud", { callback: () => heard++ });
  loud.publish("connection.loud");
  await loud.flush();
  await loud.close();
  await nc.close();
  return {
    echoed,
    rtt: typeof rtt === "number" && rtt >= 0 && rtt < 5000,
    stats: { inMsgs, inBytes, outMsgs, outBytes },
    info,
    told,
    heard,
  };
}
