// The network breaks: the client comes back and its subscriptions with it.
import { createServer, connect as dial } from "node:net";

// A wire that can be cut.
function proxy(target) {
  const [host, port] = target.split(":");
  const pairs = new Set();
  const server = createServer((near) => {
    const far = dial(Number(port), host);
    pairs.add(near).add(far);
    near.pipe(far).on("error", () => near.destroy());
    far.pipe(near).on("error", () => far.destroy());
  });
  const cut = () => {
    for (const socket of pairs) socket.destroy();
    pairs.clear();
  };
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () =>
      resolve({ address: `127.0.0.1:${server.address().port}`, cut, close: () => (cut(), server.close()) }),
    ),
  );
}

export default async function ({ connect, take, servers }) {
  const wire = await proxy(servers.plain);
  const nc = await connect({ servers: wire.address, reconnectTimeWait: 10, maxReconnectAttempts: -1 });
  const events = [];
  const seen = {};
  const event = (type) => new Promise((resolve) => (seen[type] = resolve));
  const away = event("disconnect");
  const back = event("reconnect");
  (async () => {
    for await (const { type } of nc.status()) {
      if (!(type in seen)) continue;
      events.push(type);
      seen[type]();
    }
  })();
  const first = nc.info.client_id;
  const subscription = nc.subscribe("reconnect.here");
  const limited = nc.subscribe("reconnect.limited", { max: 3 });
  await nc.flush();
  nc.publish("reconnect.limited", "1");
  await nc.flush();
  wire.cut();
  await away;
  await back;
  nc.publish("reconnect.here", "sent when back");
  for (const n of ["2", "3", "4"]) nc.publish("reconnect.limited", n);
  const received = await take(subscription, 1);
  const few = await take(limited, 3);
  await nc.flush();
  const told = {
    events,
    newClient: nc.info.client_id !== first,
    received: received.map((m) => m.string()),
    limited: few.map((m) => m.string()),
  };
  await nc.close();
  wire.close();
  return told;
}
