// Requests to this server. Credentials live in this module's memory and nowhere else.

const BASE = document.documentElement.dataset.base;
const TIMEOUT = 8000;

let authorization = "";

/** No answer, or one that says no; without an answer the status is 0. */
export class Refused extends Error {
  constructor(status, text) {
    super(text.trim() || `The server answered ${status}`);
    this.status = status;
  }
}

export async function get(path) {
  return ask(path, {});
}

/** A page below /view, with the credentials if there are any. */
export async function view(path) {
  return ask(`/view/${path}`, authorization ? { Authorization: authorization } : {});
}

/** `omit`: the browser neither sends nor asks for passwords; the page has its own form. */
async function ask(path, headers) {
  const signal = AbortSignal.timeout(TIMEOUT);
  const options = { headers, signal, cache: "no-store", credentials: "omit" };
  let answer;
  let body;
  try {
    answer = await fetch(BASE + path, options);
    body = await answer.text();
  } catch {
    throw new Refused(0, "The server does not answer");
  }
  if (!answer.ok) throw new Refused(answer.status, body);
  return JSON.parse(body);
}

export function use(user, password) {
  const data = new TextEncoder().encode(`${user}:${password}`);
  authorization = `Basic ${btoa(String.fromCharCode(...data))}`;
}

/** Did somebody sign in? */
export function known() {
  return authorization !== "";
}

/** A path of parts that may hold anything. */
export function path(...parts) {
  return parts.map(encodeURIComponent).join("/");
}
