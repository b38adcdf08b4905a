// Messages and values: a page of them, one of them, and the door for those who must show who they are.

import * as api from "./api.js";
import { h, setText } from "./dom.js";
import { bytes, clock, count, decode, hex, json, text } from "./format.js";
import { Table } from "./table.js";

const PREVIEW = 120; // characters
const KV_DELETED = { DEL: "deleted", PURGE: "purged" };

function header(row, name) {
  return row.headers.find(([each]) => each === name)?.[1];
}

function preview(row) {
  const deleted = KV_DELETED[header(row, "KV-Operation")];
  if (deleted) return deleted;
  const data = decode(row.data);
  const found = text(data, data.length < row.size) ?? hex(data.subarray(0, 16)).slice(8);
  return found.length > PREVIEW ? `${found.slice(0, PREVIEW)}…` : found;
}

export class Messages {
  /**
   * page, message: paths below /view; filter: { name, hint, value }; anywhere: one may begin anywhere;
   * strip: what subjects begin with and nobody wants to read; history: a link for a subject.
   */
  constructor(options) {
    this.options = options;
    const { what, filter } = options;
    this.filter = h("input", { type: "search", placeholder: filter.hint, "aria-label": filter.hint, value: filter.value });
    this.from = h("input", { type: "number", min: 1, placeholder: "From sequence", "aria-label": "From sequence" });
    const form = h("form", { class: "controls", on: { submit: (event) => this.submit(event) } },
      this.filter, options.anywhere ? this.from : null, h("button", {}, "Show"));
    this.note = h("p", { class: "note", role: "status" });
    this.more = h("button", { type: "button", hidden: true, on: { click: () => this.load(this.next) } }, "More");
    this.table = new Table({
      label: what,
      columns: this.columns(),
      key: (row) => row.seq,
      empty: `No ${what} here.`,
      sort: -1,
      filter: false,
    });
    this.list = h("div", {}, form, this.note, this.table.element, this.more);
    this.door = new Door(() => this.load());
    this.element = h("section", { class: "messages" }, this.list, this.door.element);
    this.load();
  }

  columns() {
    const { strip, history } = this.options;
    const name = (row) => (strip ? row.subject.replace(strip, "") : row.subject);
    const open = (row) => h("button", {
      type: "button",
      class: "link",
      on: { click: () => this.open(row()) },
    }, name(row()));
    const past = (row) => h("a", { href: history(row().subject) }, "History");
    return [
      { name: strip ? "Key" : "Subject", value: name, cell: open },
      { name: strip ? "Revision" : "Sequence", value: (row) => row.seq, text: (row) => count(row.seq), numeric: true },
      { name: "Time", value: (row) => row.time, text: (row) => clock(row.time) },
      { name: "Size", value: (row) => row.size, text: (row) => bytes(row.size), numeric: true },
      { name: strip ? "Value" : "Payload", value: preview },
      ...(history ? [{ name: "Past", value: () => "", cell: past }] : []),
    ];
  }

  submit(event) {
    event.preventDefault();
    this.load();
  }

  /** `next`: where the page after the last one begins. */
  async load(next) {
    const { page, filter } = this.options;
    const query = new URLSearchParams();
    if (this.filter.value.trim()) query.set(filter.name, this.filter.value.trim());
    const from = this.from.value;
    if (next || from) query.set(from ? "from" : "before", next ?? from);
    try {
      const found = await api.view(`${page}?${query}`);
      this.show(next ? [...this.table.rows, ...found.messages] : found.messages, found);
      this.door.close();
    } catch (error) {
      this.refused(error);
    }
  }

  show(rows, { next, hidden }) {
    this.table.update(rows);
    this.next = next;
    this.more.hidden = !next;
    const words = [`${count(rows.length)} shown`];
    if (hidden) words.push(`${count(hidden)} not: you may not subscribe to their subjects`);
    setText(this.note, rows.length || hidden ? words.join(", ") : "");
  }

  refused(error) {
    if (!(error instanceof api.Refused)) throw error;
    const { status, message } = error;
    if (status === 401 || (status === 403 && api.known())) {
      this.door.open(api.known() ? message : "");
      this.list.hidden = true;
      return;
    }
    this.list.hidden = false;
    setText(this.note, message);
  }

  /** The list has the beginning of a message only. */
  async open(row) {
    try {
      showMessage(await api.view(`${this.options.message}/${row.seq}`));
    } catch (error) {
      this.refused(error);
    }
  }
}

// -- the door ---------------------------------------------------------------------------------------

class Door {
  constructor(enter) {
    this.user = h("input", { autocomplete: "username", id: "door-user" });
    this.password = h("input", { type: "password", autocomplete: "current-password", id: "door-password" });
    this.said = h("p", { class: "note", role: "alert" });
    const submit = (event) => {
      event.preventDefault();
      api.use(this.user.value, this.password.value);
      this.password.value = "";
      enter();
    };
    this.element = h("form", { class: "door", hidden: true, on: { submit } },
      h("p", {}, "Messages are shown to users of this server, as far as they may subscribe."),
      h("label", { for: "door-user" }, "User (empty for a token)"), this.user,
      h("label", { for: "door-password" }, "Password or token"), this.password,
      h("button", {}, "Sign in"), this.said);
  }

  /** `said`: what the server said to those who were here before. */
  open(said) {
    this.element.hidden = false;
    setText(this.said, said);
    if (said) this.password.focus();
  }

  close() {
    this.element.hidden = true;
    this.element.previousSibling.hidden = false;
  }
}

// -- one message ------------------------------------------------------------------------------------

const FORMS = { JSON: json, Text: text, Hex: hex };

/** A dialog: headers, and the payload in every form that it can take. */
function showMessage(row) {
  const data = decode(row.data);
  const cut = data.length < row.size;
  const forms = Object.entries(FORMS)
    .map(([name, form]) => [name, form(data, cut)])
    .filter(([, found]) => found !== null);
  const payload = h("pre", { tabindex: 0, "aria-label": "Payload" });
  const buttons = forms.map(([name, found]) => {
    const choose = () => {
      payload.textContent = found;
      for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
    };
    const button = h("button", { type: "button", on: { click: choose } }, name);
    return button;
  });
  const close = h("button", { type: "button", class: "close", on: { click: () => dialog.close() } }, "Close");
  const dialog = h("dialog", { "aria-label": `Message ${row.seq}`, on: { close: () => dialog.remove() } },
    h("div", { class: "controls" }, h("h3", { class: "name" }, row.subject), close),
    h("p", { class: "note" }, `Sequence ${count(row.seq)}, ${clock(row.time)}, ${bytes(row.size)}`),
    row.headers.length ? headerTable(row.headers) : null,
    h("div", { class: "controls", role: "group", "aria-label": "Form" }, buttons),
    cut ? h("p", { class: "note" }, `The first ${bytes(data.length)} of ${bytes(row.size)}`) : null,
    data.length ? payload : h("p", { class: "empty" }, "No payload."));
  buttons[0].click();
  document.body.append(dialog);
  dialog.showModal();
}

function headerTable(headers) {
  return h("dl", { class: "facts headers" }, headers.map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}
