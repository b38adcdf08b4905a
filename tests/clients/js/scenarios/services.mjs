// $SRV: a service with its groups, found and asked through the discovery protocol.
const CONFIG = { name: "calc", version: "1.2.3", description: "adds", metadata: { region: "test" } };

// Discovery answers without what differs from run to run.
const stable = ({ id, started, ...rest }) => ({ ...rest, id: id.length > 10, started: started && started.length > 10 });
const counters = ({ name, subject, queue_group, num_requests, num_errors, last_error }) => ({
  name, subject, queue_group, num_requests, num_errors, last_error,
});

async function collect(answers) {
  const all = [];
  for await (const each of await answers) all.push(each);
  return all;
}

async function serve(manager) {
  const service = await manager.add(CONFIG);
  const group = service.addGroup("math");
  group.addEndpoint("add", {
    metadata: { takes: "numbers" },
    handler: (error, m) => {
      const numbers = m.json();
      if (!Array.isArray(numbers)) return m.respondError(400, "not a list");
      return m.respond(JSON.stringify(numbers.reduce((a, b) => a + b, 0)));
    },
  });
  service.addEndpoint("own", { queue: "other", handler: (_, m) => m.respond("own") });
  return service;
}

export default async function ({ connect, failure, message, services, servers }) {
  const nc = await connect({ servers: servers.plain });
  const manager = services(nc);
  const service = await serve(manager);
  const twin = await serve(manager);
  const timeout = { timeout: 5000 };

  const sum = (await nc.request("math.add", "[1, 2, 3]", timeout)).json();
  const refused = message(await nc.request("math.add", "{}", timeout));
  const own = (await nc.request("own", "", timeout)).string();

  const found = manager.client({ strategy: "count", maxMessages: 2, maxWait: 5000 });
  const single = manager.client({ strategy: "count", maxMessages: 1, maxWait: 5000 });
  const id = service.info().id;
  const pings = await collect(found.ping("calc"));
  const infos = await collect(single.info("calc", id));
  const stats = await collect(found.stats("calc"));
  const everybody = await collect(found.ping());
  const raw = await nc.request(`$SRV.PING.calc.${id}`, "", timeout);
  const endpoints = stats.flatMap((each) => each.endpoints.map(counters));
  const requests = endpoints.map((each) => each.num_requests).reduce((a, b) => a + b, 0);
  const errors = endpoints.map((each) => each.num_errors).reduce((a, b) => a + b, 0);

  await service.stop();
  await twin.stop();
  const gone = await failure(nc.request("math.add", "[]", timeout));
  const schema = await failure(nc.request("$SRV.SCHEMA.calc", "", timeout));
  await nc.close();
  return {
    sum,
    refused: { data: refused.data, headers: refused.headers },
    own,
    pings: pings.map(stable),
    ids: new Set(pings.map((each) => each.id)).size,
    infos: infos.map(stable),
    everybody: everybody.length,
    raw: stable(raw.json()),
    endpoints: [...new Set(endpoints.map((each) => `${each.name} ${each.subject} ${each.queue_group}`))].sort(),
    requests,
    errors,
    gone,
    schema,
  };
}
