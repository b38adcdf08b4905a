// Helpers that both generations share.

// An error as an application can tell it apart; with its causes, without its stack.
export function describe(error) {
  if (!(error instanceof Error)) return { value: String(error) };
  const told = { class: error.constructor.name, name: error.name, message: error.message };
  if (error.code !== undefined) told.code = error.code;
  if (error.cause instanceof Error) told.cause = describe(error.cause);
  return told;
}

// The error that a promise or a function ends with.
export async function failure(action) {
  try {
    await (typeof action === "function" ? action() : action);
  } catch (error) {
    return describe(error);
  }
  return null;
}

// A message as plain data.
export function message(m) {
  const plain = { subject: m.subject, data: m.string() };
  if (m.headers) plain.headers = Object.fromEntries([...m.headers]);
  return plain;
}

// The next `count` messages of a subscription.
export async function take(subscription, count) {
  const messages = [];
  if (count === 0) return messages;
  for await (const m of subscription) {
    messages.push(m);
    if (messages.length === count) break;
  }
  return messages;
}

// Everything that an iterator gives.
export async function all(iterator) {
  const items = [];
  for await (const item of await iterator) items.push(item);
  return items;
}

// Fields that differ from run to run: they must be there, what they say is left out.
const VOLATILE = new Set([
  "active", "created", "first_ts", "last_active", "last_ts", "leader", "mtime", "nuid", "time",
  "timestamp", "ts", "Nats-Time-Stamp",
]);
const ZERO_TIME = "0001-01-01T00:00:00Z";

function steadyField([key, value]) {
  if (value === undefined) return [];
  if (value === ZERO_TIME || !VOLATILE.has(key)) return [[key, steady(value)]];
  return [[key, value === null ? null : "<volatile>"]];
}

// A client's answer as plain data that is the same in every run.
export function steady(value) {
  if (Array.isArray(value)) return value.map(steady);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).flatMap(steadyField));
}

// A delivered message as plain data.
export function delivered(m) {
  const { stream, consumer, deliveryCount, streamSequence, deliverySequence, pending, redelivered } = m.info;
  const plain = { subject: m.subject, data: m.string(), stream, consumer, deliveryCount, redelivered };
  return { ...plain, sequences: [streamSequence, deliverySequence], pending };
}

// A connection with JetStream for the length of a story.
export async function withJetStream({ connect, jetstream, jetstreamManager, servers }, story) {
  const nc = await connect({ servers: servers.plain });
  try {
    return await story({ nc, js: jetstream(nc), jsm: await jetstreamManager(nc) });
  } finally {
    await nc.close();
  }
}

// A stream with messages 1..count on the given subjects in turn.
export async function filled({ js, jsm }, name, subjects, count, config = {}) {
  await jsm.streams.add({ name, subjects: [`${name}.>`], ...config });
  for (let i = 1; i <= count; i++) {
    await js.publish(`${name}.${subjects[(i - 1) % subjects.length]}`, String(i));
  }
}
