// The ways into a server with one generation of the client: TLS, WebSocket, and both at once.
//
//   node wire.mjs v2|v3 '{"ca": FILE, "tls": "host:port", "first": "host:port", "ws": URL, "wss": URL}'
//
// Prints one JSON transcript. The second generation knows no WebSocket in Node.
const [generation, given] = process.argv.slice(2);
const client = await import(`./${generation}.mjs`);
const servers = JSON.parse(given);
const SIZE = 150_000;

async function play(open) {
  const connection = await open();
  connection.subscribe("echo", { callback: (_, m) => m.respond(m.data, { headers: m.headers }) });
  const sent = client.headers();
  sent.append("Word", "grüße");
  const payload = Uint8Array.from({ length: SIZE }, (_, i) => (i * 7) % 256);
  const answer = await connection.request("echo", payload, { headers: sent });
  const many = connection.subscribe("many", { max: 1000 });
  for (let i = 0; i < 1000; i++) connection.publish("many", `message ${i}`);
  let count = 0;
  for await (const m of many) count += m.string() === `message ${count}` ? 1 : 0;
  const told = {
    word: answer.headers.get("Word"),
    same: answer.data.length === SIZE && answer.data.every((byte, i) => byte === payload[i]),
    count,
    tls: connection.info.tls_required === true,
    nobody: (await client.failure(connection.request("nobody.there"))) !== null,
  };
  await connection.drain();
  return told;
}

const tls = { caFile: servers.ca };
const ways = {
  tls: () => client.connect({ servers: servers.tls, tls }),
  first: () => client.connect({ servers: servers.first, tls: { ...tls, handshakeFirst: true } }),
};
if (generation === "v3") {
  const { wsconnect } = await import("@nats-io/nats-core");
  ways.ws = () => wsconnect({ servers: servers.ws });
  ways.wss = () => wsconnect({ servers: servers.wss });
}
const transcript = {};
for (const [name, open] of Object.entries(ways)) {
  try {
    transcript[name] = await play(open);
  } catch (error) {
    transcript[name] = { unexpected: client.describe(error) };
  }
}
process.stdout.write(JSON.stringify(transcript), () => process.exit(0));
