// Tables that sort and filter, and keep focus and selection while their values change.

import { h, setText } from "./dom.js";

/**
 * columns: { name, value(row), text?(row), cell?(row), numeric? }: `value` sorts, `text` is shown;
 * `cell` builds an element once per row, for links and buttons. `sort` is the column to sort by at
 * first; -1 leaves the order as it is.
 */
export class Table {
  constructor({ label, columns, key, empty, sort = 0, descending = false, filter = true }) {
    this.columns = columns;
    this.key = key;
    this.empty = empty;
    this.sort = sort;
    this.descending = descending;
    this.rows = [];
    this.lines = new Map();
    this.heads = columns.map((column, i) => this.head(column, i));
    this.body = h("tbody", { role: "rowgroup" });
    this.nothing = h("p", { class: "empty", hidden: true });
    this.search = h("input", {
      type: "search",
      placeholder: "Filter",
      "aria-label": `Filter ${label}`,
      on: { input: () => this.draw() },
    });
    const table = h("table", { role: "table", "aria-label": label },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, this.heads)), this.body);
    this.element = h("div", { class: "table" }, filter ? this.search : null, table, this.nothing);
    this.table = table;
  }

  head(column, i) {
    const sorted = () => {
      this.descending = this.sort === i ? !this.descending : Boolean(column.numeric);
      this.sort = i;
      this.draw();
    };
    const button = h("button", { type: "button", on: { click: sorted } }, column.name);
    const kind = column.numeric ? "number" : "";
    return h("th", { role: "columnheader", scope: "col", class: kind }, button);
  }

  update(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const wanted = this.search.value.trim().toLowerCase();
    const shown = this.rows.filter((row) => !wanted || this.words(row).includes(wanted));
    const value = this.columns[this.sort]?.value;
    const sign = this.descending ? -1 : 1;
    if (value) shown.sort((a, b) => sign * compare(value(a), value(b)));
    this.place(shown.map((row) => this.line(row)));
    this.heads.forEach((head, i) => {
      const order = this.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", i === this.sort ? order : "none");
    });
    this.search.hidden = this.rows.length < 2 && !wanted;
    this.table.hidden = !shown.length;
    this.nothing.hidden = shown.length > 0;
    setText(this.nothing, this.rows.length ? "Nothing matches the filter." : this.empty);
  }

  words(row) {
    return this.columns.map((column) => String(column.value(row))).join("\n").toLowerCase();
  }

  /** The row's element, made once and changed in place. */
  line(row) {
    const key = this.key(row);
    let line = this.lines.get(key);
    if (!line) {
      line = { row };
      line.cells = this.columns.map((column) => this.cell(column, () => line.row));
      line.element = h("tr", { role: "row" }, line.cells);
      this.lines.set(key, line);
    }
    line.row = row;
    this.columns.forEach((column, i) => {
      if (!column.cell) setText(line.cells[i], (column.text ?? column.value)(row));
    });
    return line.element;
  }

  cell(column, row) {
    const props = { role: "cell", "data-label": column.name, class: column.numeric ? "number" : "" };
    return h("td", props, column.cell ? column.cell(row) : null);
  }

  place(elements) {
    const now = this.body.children;
    elements.forEach((element, i) => {
      if (now[i] !== element) this.body.insertBefore(element, now[i] ?? null);
    });
    while (now.length > elements.length) now[now.length - 1].remove();
    if (this.lines.size > 2 * this.rows.length + 100) this.forget();
  }

  forget() {
    const kept = new Set(this.rows.map(this.key));
    for (const key of this.lines.keys()) if (!kept.has(key)) this.lines.delete(key);
  }
}

function compare(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
