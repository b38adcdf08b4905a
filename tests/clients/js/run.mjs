// Runs every scenario of a folder with one generation of the client and prints one JSON transcript.
//
//   node run.mjs v2|v3 FOLDER '{"plain": "host:port", "users": "host:port", "token": "host:port"}'
//
// A transcript holds what the application sees: messages, errors, events. Whatever differs from run
// to run (ids, times, ports) is left out by the scenarios themselves. Scenarios of the JetStream
// folder have streams of their own and run side by side, because many of them wait for a timer.
import { readdir } from "node:fs/promises";

const LIMIT_MS = 20_000;

const [generation, folder, servers] = process.argv.slice(2);
const client = await import(`./${generation}.mjs`);
const context = { ...client, generation, servers: JSON.parse(servers) };

function limited(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no end after ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const path = new URL(`./${folder}/`, import.meta.url);
const transcript = {};

async function play(file) {
  const { default: scenario } = await import(new URL(file, path));
  const name = file.slice(0, -".mjs".length);
  try {
    transcript[name] = await limited(scenario(context));
  } catch (error) {
    transcript[name] = { unexpected: client.describe(error) };
  }
}

const files = (await readdir(path)).filter((name) => name.endsWith(".mjs")).sort();
if (folder === "jetstream") await Promise.all(files.map(play));
else for (const file of files) await play(file);
process.stdout.write(JSON.stringify(transcript), () => process.exit(0));
