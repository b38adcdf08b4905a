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
