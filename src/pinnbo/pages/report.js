"use strict";
/* The table of measurements: sorted by a click on a column, page by page. */
const read = (id) => JSON.parse(document.getElementById(id).textContent);

function table() {
  const { columns, rows, words } = read("rows"), body = document.querySelector("#table tbody");
  if (!body) return;
  const size = 25, said = document.getElementById("page"), [back, on] = ["back", "on"].map((id) => document.getElementById(id));
  let order = rows.map((_, i) => i), page = 0, sorted = [0, 1];
  const show = () => {
    const pages = Math.max(1, Math.ceil(rows.length / size));
    page = Math.min(Math.max(page, 0), pages - 1);
    body.replaceChildren(...order.slice(page * size, (page + 1) * size).map((i) => {
      const line = document.createElement("tr");
      line.append(...rows[i].map((cell, k) => {
        const place = document.createElement("td");
        if (words.includes(k)) place.className = "words";
        place.textContent = cell === null ? "" : typeof cell === "number" ? String(cell) : cell;
        return place;
      }));
      return line;
    }));
    said.textContent = rows.length ? `Rows ${page * size + 1} to ${Math.min((page + 1) * size, rows.length)} of ${rows.length}` : "There are none yet.";
    back.hidden = on.hidden = pages === 1;
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
  };
  const heads = document.querySelectorAll("#table th");
  heads.forEach((head, k) => head.querySelector("button").addEventListener("click", () => {
    sorted = [k, sorted[0] === k ? -sorted[1] : 1];
    const value = (i) => rows[i][k];
    order.sort((i, j) => {
      const [a, b] = [value(i), value(j)];
      if (a === null || b === null) return (a === null) - (b === null);
      return sorted[1] * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
    });
    heads.forEach((other, m) => other.setAttribute("aria-sort", m === k ? (sorted[1] > 0 ? "ascending" : "descending") : "none"));
    page = 0;
    show();
  }));
  back.addEventListener("click", () => { page -= 1; show(); });
  on.addEventListener("click", () => { page += 1; show(); });
  show();
}

const field = document.querySelector(".map");
if (field) new FieldMap(field).set(read("field"));
table();
