// A request that nobody can answer fails at once.
export default async function ({ connect, failure, servers }) {
  const nc = await connect({ servers: servers.plain });
  const started = Date.now();
  const mux = await failure(nc.request("nobody.listens", "", { timeout: 8000 }));
  const own = await failure(nc.request("nobody.listens", "", { timeout: 8000, noMux: true }));
  await nc.close();
  return { mux, own, atOnce: Date.now() - started < 4000 };
}
