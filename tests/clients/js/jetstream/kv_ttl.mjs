// Keys with a time to live and the markers they leave. Only the third generation knows them.
import assert from "node:assert/strict";
import { take, withJetStream } from "../common.mjs";

const short = (e) => `${e.operation} ${e.key} ${e.string()}`;

export default async function (context) {
  if (context.generation === "v2") return "not in this generation";
  return withJetStream(context, async ({ nc }) => {
    const kv = await context.buckets(nc).create("expiring", { markerTTL: 2000 });
    const watcher = await kv.watch();
    await kv.create("brief", "x", "1s");
    const seen = (await take(watcher, 2)).map(short);
    assert.deepEqual(seen, ["PUT brief x", "PURGE brief "]);
    const again = await kv.create("brief", "y");
    await kv.put("stays", "z");
    await kv.purge("stays", { ttl: "1s" });
    await kv.destroy();
    return { seen, again };
  });
}
