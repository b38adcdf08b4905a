// Numbers, sizes and times as people read them.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function count(n) {
  return n === undefined || Number.isNaN(n) ? "–" : whole.format(n);
}

/** At most four characters or so, for tiles and axes. */
export function brief(n) {
  if (n === undefined || Number.isNaN(n)) return "–";
  return Math.abs(n) < 10 && !Number.isInteger(n) ? n.toFixed(1) : short.format(Math.round(n));
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytes(n) {
  if (n === undefined || Number.isNaN(n)) return "–";
  let unit = 0;
  while (n >= 1024 && unit < UNITS.length - 1) {
    n /= 1024;
    unit += 1;
  }
  return `${unit && n < 10 ? n.toFixed(1) : Math.round(n)} ${UNITS[unit]}`;
}

const STEPS = [[86400 * 365, "y"], [86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** Seconds as the two largest units: `3 d 4 h`. */
export function duration(seconds) {
  let rest = Math.max(0, Math.round(seconds));
  const words = [];
  for (const [size, name] of STEPS) {
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n) words.push(`${n} ${name}`);
    if (words.length === 2 || (words.length && !n)) break;
  }
  return words.join(" ") || "0 s";
}

/** How long ago, given Go's zero time and nanoseconds. */
export function ago(text, now = Date.now()) {
  const at = Date.parse(text);
  if (!(at > 0)) return "never";
  const seconds = (now - at) / 1000;
  return seconds < 1 ? "now" : `${duration(seconds)} ago`;
}

export function clock(text) {
  const at = new Date(text);
  const pad = (n, width = 2) => String(n).padStart(width, "0");
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  const time = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  return `${day} ${time}.${pad(at.getMilliseconds(), 3)}`;
}

// -- payloads ---------------------------------------------------------------------------------------

export function decode(base64) {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}

/** The text, or null when the bytes are not one. A part may end within a character. */
export function text(data, cut) {
  try {
    const found = new TextDecoder("utf-8", { fatal: true }).decode(data, { stream: cut });
    return /[\u0000-\u0008\u000e-\u001a]/.test(found) ? null : found;
  } catch {
    return null;
  }
}

export function json(data, cut) {
  const found = cut ? null : text(data, false);
  try {
    return found && JSON.stringify(JSON.parse(found), null, 2);
  } catch {
    return null;
  }
}

export function hex(data) {
  const lines = [];
  for (let at = 0; at < data.length; at += 16) {
    const row = [...data.subarray(at, at + 16)];
    const codes = row.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const chars = row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "."));
    lines.push(`${at.toString(16).padStart(6, "0")}  ${codes.padEnd(47)}  ${chars.join("")}`);
  }
  return lines.join("\n");
}
