// The page: which part is shown, how often the server is asked, what happens when it does not answer.

import { get, Refused } from "./api.js";
import { setText } from "./dom.js";
import { clock } from "./format.js";
import { Connections } from "./connections.js";
import { Overview } from "./overview.js";
import { Bucket, Buckets, Stream, Streams } from "./streams.js";

const PERIOD = 2000; // between two looks ...
const SHARE = 20; // ... and at least so many times as long as the last one took
const HISTORY_PERIOD = 10_000;
const SHORT = 900; // a rate over less time than this says more about chance

const JSZ = "/jsz?accounts=1&streams=1&consumers=1&limit=1024";
const NO_HISTORY = { interval: 5, samples: { time: [], in_msgs: [], in_bytes: [], out_msgs: [], out_bytes: [], connections: [], storage: [], memory: [] } };

const main = document.getElementById("main");
const status = document.getElementById("status");
const title = document.title;

let page;
let timer = 0;
let looking = 0; // number of the look that counts; an older one is dropped
let lost = ""; // since when the server does not answer
let history = NO_HISTORY;
let historyAt = -Infinity;
let last; // counters, their time and the rates made of them

// -- where we are -----------------------------------------------------------------------------------

const ROUTES = { "": Overview, streams: Streams, buckets: Buckets, connections: Connections };
const DETAILS = { streams: Stream, buckets: Bucket };

function route() {
  const [place, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [kind, ...names] = place.split("/").map(decodeURIComponent);
  const Page = names.length === 2 ? DETAILS[kind] : ROUTES[kind];
  page = Page ? new Page(...names, new URLSearchParams(query)) : new Overview();
  page.changed = look;
  main.replaceChildren(page.element);
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.hash.replace(/^#\/?/, "") === kind;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = [names.at(-1) ?? kind, title].filter(Boolean).join(" · ");
  look();
}

// -- looking ----------------------------------------------------------------------------------------

async function look() {
  clearTimeout(timer);
  const mine = (looking += 1);
  const shown = page;
  const began = performance.now();
  let now;
  try {
    now = await ask(shown);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (mine === looking) missing(error);
  }
  if (mine !== looking) return;
  if (now) {
    found();
    shown.update(now);
  }
  const took = performance.now() - began;
  if (!document.hidden) timer = setTimeout(look, Math.max(PERIOD, SHARE * took));
}

/** What the page needs, asked for at once. */
async function ask({ needs, path }) {
  const wants = (name) => needs.includes(name);
  const stale = performance.now() - historyAt > HISTORY_PERIOD;
  const [varz, jsz, connz, past] = await Promise.all([
    get("/varz"),
    wants("jsz") ? get(JSZ + (wants("config") ? "&config=1" : "")) : {},
    wants("connz") ? get(path) : {},
    stale && wants("history") ? get("/history") : null,
  ]);
  if (past) {
    history = past;
    historyAt = performance.now();
  }
  return { varz, jsz, connz, history, rate: rates(varz) };
}

/** Per second since the look before; at first, between the last sample of the hour and now. */
function rates(varz) {
  const at = Date.parse(varz.now);
  const same = last?.id === varz.server_id;
  if (same && at - last.at < SHORT) return last.rate;
  const before = same ? last : sampled();
  const seconds = before ? (at - before.at) / 1000 : 0;
  const rate = (name) => (seconds > 0 ? Math.max(0, varz[name] - before.value(name)) / seconds : 0);
  last = { at, id: varz.server_id, value: (name) => varz[name], rate };
  return rate;
}

function sampled() {
  const { time, ...columns } = history.samples;
  return time.length ? { at: time.at(-1), value: (name) => columns[name].at(-1) } : null;
}

// -- whether it answers -----------------------------------------------------------------------------

// The status is read out when it changes, so it must not change with every look.
function found() {
  lost = "";
  document.body.classList.remove("lost");
  setText(status, "Live");
}

function missing(error) {
  lost ||= clock(Date.now()).slice(11, 19);
  document.body.classList.add("lost");
  setText(status, `${error.message} since ${lost}, trying again`);
  historyAt = -Infinity;
}

// -- dark and light ---------------------------------------------------------------------------------

const THEMES = ["system", "light", "dark"];
const button = document.getElementById("theme");

function theme(name) {
  document.documentElement.dataset.theme = name;
  setText(button, `Theme: ${name}`);
  try {
    localStorage.setItem("theme", name);
  } catch {
    // Not kept then.
  }
}

function stored() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

button.addEventListener("click", () => {
  theme(THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length]);
});

// -- start ------------------------------------------------------------------------------------------

theme(THEMES.includes(stored()) ? stored() : "system");
button.hidden = false;
document.querySelector("nav").hidden = false;
addEventListener("hashchange", () => {
  route();
  main.focus({ preventScroll: true });
  scrollTo(0, 0);
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});
route();
