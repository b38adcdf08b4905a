// Runs every scenario with one generation of the client and prints one JSON transcript.
//
//   node run.mjs v2|v3 '{"plain": "host:port", "users": "host:port", "token": "host:port"}'
//
// A transcript holds what the application sees: messages, errors, events. Whatever differs from run
// to run (ids, times, ports) is left out by the scenarios themselves.
import { readdir } from "node:fs/promises";

const LIMIT_MS = 10_000;

const [generation, servers] = process.argv.slice(2);
const client = await import(`./${generation}.mjs`);
const context = { ...client, servers: JSON.parse(servers) };

function limited(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const folder = new URL("./scenarios/", import.meta.url);
const transcript = {};
for (const file of (await readdir(folder)).filter((name) => name.endsWith(".mjs")).sort()) {
  const { default: scenario } = await import(new URL(file, folder));
  const name = file.slice(0, -".mjs".length);
  try {
    transcript[name] = await limited(scenario(context));
  } catch (error) {
    transcript[name] = { unexpected: client.describe(error) };
  }
}
process.stdout.write(JSON.stringify(transcript), () => process.exit(0));
