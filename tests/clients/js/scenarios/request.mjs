// Request and reply: one answer, many at once, several answers to one question, no answer in time.
export default async function ({ connect, headers, failure, message, servers }) {
  const nc = await connect({ servers: servers.plain });
  nc.subscribe("request.echo", {
    callback: (_, m) => {
      const h = headers();
      h.set("Asked", m.headers?.get("Question") ?? "");
      m.respond(m.data, { headers: h });
    },
  });
  for (const name of ["a", "b", "c"]) {
    nc.subscribe("request.all", { callback: (_, m) => m.respond(name) });
  }
  nc.subscribe("request.silent", { callback: () => {} });

  const h = headers();
  h.set("Question", "why");
  const answer = await nc.request("request.echo", "42", { timeout: 5000, headers: h });
  const own = await nc.request("request.echo", "own inbox", { timeout: 5000, noMux: true });
  const many = await Promise.all(
    [...Array(200).keys()].map((i) => nc.request("request.echo", String(i), { timeout: 5000 })),
  );
  const several = [];
  const answers = await nc.requestMany("request.all", "", { strategy: "count", maxMessages: 3, maxWait: 5000 });
  for await (const m of answers) several.push(m.string());
  const late = await failure(nc.request("request.silent", "", { timeout: 100 }));
  await nc.close();
  return {
    answer: { ...message(answer), subject: undefined },
    inbox: /^_INBOX\./.test(answer.subject),
    own: own.string(),
    many: many.every((m, i) => m.string() === String(i)),
    several: several.sort(),
    late,
  };
}
