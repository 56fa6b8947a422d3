"use strict";
/* The field on a canvas: a map of two parameters or a curve of one, with a read-out under the pointer or the arrow keys. */
const COLOURS = {
  mean: ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"],
  std: ["#00224e", "#1a386f", "#434e6c", "#61656f", "#7d7c78", "#9b9476", "#bcae6c", "#dec958", "#fee838"],
};
const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));
const nice = (number) => (number === null || number === undefined ? "–" : String(Number(number.toPrecision(4))));

function colour(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  const [low, high] = [rgb(stops[k]), rgb(stops[k + 1])];
  return low.map((c, i) => Math.round(c + (at - k) * (high[i] - c)));
}

function ticks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw) || raw || 1;
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + 1e-9 * step; t += step) found.push(Math.abs(t) < 1e-9 * step ? 0 : t);
  return found;
}

class FieldMap {
  constructor(root) {
    this.root = root;
    this.canvas = root.querySelector("canvas");
    this.output = root.querySelector("output");
    this.slider = root.querySelector("input[type=range]");
    this.layer = "mean";
    this.number = 0;  // of the field
    this.cursor = null;
    this.front = null;  // a point that is to be seen above all others, by names
    this.slider.addEventListener("input", () => this.slide());
    for (const button of root.querySelectorAll("button[data-layer]")) {
      button.addEventListener("click", () => this.show(button.dataset.layer));
    }
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerdown", (event) => this.point(event));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    addEventListener("resize", () => this.draw());
  }

  set(data) {
    const before = this.data;
    this.data = data;
    if (!data) return;
    this.number = Math.min(this.number, data.fields.length - 1);
    this.offerFields();
    this.root.querySelector(".slider").hidden = !data.slider;
    if (data.slider) {
      this.slider.max = data.slider.values.length - 1;
      if (!before || !before.slider) this.slider.value = data.best_frame;
      this.slide();
    }
    const there = { wall: data.walls.some((w) => w.length), outside: data.outside, infeasible: data.infeasible.length, pending: data.pending.length, measured: data.measured.length };
    for (const [kind, is] of Object.entries(there)) this.root.querySelector(`.keys .${kind}`).hidden = !is;
    this.show(this.layer);
  }

  /* one button for each field, where there are several */
  offerFields() {
    const row = this.root.querySelector(".fields");
    row.hidden = this.data.fields.length < 2;
    row.replaceChildren(...this.data.fields.map((field, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = field.label;
      button.setAttribute("aria-pressed", String(k === this.number));
      button.addEventListener("click", () => { this.number = k; this.offerFields(); this.tell(); this.draw(); });
      return button;
    }));
  }

  slide() {
    const { label, values } = this.data.slider;
    const said = `${label} = ${nice(values[this.frame])}`;
    this.root.querySelector(".slider .place").textContent = said;
    this.slider.setAttribute("aria-valuetext", said);
    this.tell();
    this.draw();
  }

  get frame() { return this.data.slider ? Number(this.slider.value) : 0; }
  get field() { return this.data.fields[this.number]; }
  values(layer) { return this.field[layer][this.frame]; }
  get outside() { return this.outsideOf(this.frame); }
  outsideOf(frame) { return new Set(this.data.outside ? this.data.outside[frame] : []); }

  /* the points of a kind that belong to the place of the slider */
  points(kind) {
    const frames = this.data.frames[kind];
    return this.data[kind].map((point, i) => [point, i]).filter(([, i]) => !frames.length || frames[i] === this.frame);
  }

  /* the point to be measured now, by names */
  show_front(point) {
    // it lies on the map only if no parameter is hidden
    this.front = point;
    this.draw();
  }

  show(layer) {
    this.layer = layer;
    for (const button of this.root.querySelectorAll("button[data-layer]")) {
      button.setAttribute("aria-pressed", String(button.dataset.layer === layer));
    }
    this.draw();
  }

  /* pixels of the canvas: [left, top, right, bottom] of the panel */
  get box() { return [78, 36, this.canvas.width - (this.isMap ? 108 : 20), this.canvas.height - 58]; }
  get isMap() { return this.data.grids.length === 2; }

  limits() {
    const ends = (grid) => [grid[0], grid[grid.length - 1]];
    if (this.isMap) return [...ends(this.data.grids[0]), ...ends(this.data.grids[1])];
    let low, high;
    const mean = this.values("mean"), std = this.values("std"), read = this.number ? [] : this.data.values;
    if (this.layer === "std") [low, high] = [0, Math.max(...std) || 1];
    else {
      low = Math.min(...mean.map((m, i) => m - 1.96 * std[i]), ...read);
      high = Math.max(...mean.map((m, i) => m + 1.96 * std[i]), ...read);
    }
    const room = 0.06 * (high - low) || 1;
    return [...ends(this.data.grids[0]), low - (this.layer === "std" ? 0 : room), high + room];
  }

  place(x, y) {
    const [left, top, right, bottom] = this.box, [x0, x1, y0, y1] = this.limits();
    return [left + (right - left) * (x - x0) / (x1 - x0), bottom - (bottom - top) * (y - y0) / (y1 - y0)];
  }

  draw() {
    if (!this.data) return;
    // on a phone the letters stay legible
    const width = Math.round(Math.min(840, Math.max(420, 1.2 * this.canvas.clientWidth)));
    if (this.canvas.width !== width) [this.canvas.width, this.canvas.height] = [width, Math.round(0.76 * width)];
    const pen = this.canvas.getContext("2d");
    pen.fillStyle = "#fff";
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.isMap) this.drawMap(pen); else this.drawCurve(pen);
    this.drawAxes(pen);
    this.drawWalls(pen);
    this.drawPoints(pen);
    if (this.cursor) this.drawCursor(pen);
  }

  drawMap(pen) {
    const [left, top, right, bottom] = this.box, values = this.values(this.layer), n = this.data.grids[0].length;
    // one scale for all places of the slider
    const ends = this.field[this.layer].map((frame, k) => {
      const out = this.outsideOf(k), known = frame.filter((_, i) => !out.has(i));
      return [Math.min(...known), Math.max(...known)];
    });
    const low = Math.min(...ends.map((e) => e[0])), high = Math.max(...ends.map((e) => e[1])), range = high - low || 1;
    const outside = this.outside;
    const image = document.createElement("canvas");
    image.width = image.height = n;
    const inner = image.getContext("2d"), pixels = inner.createImageData(n, n);
    values.forEach((value, i) => {
      const row = n - 1 - Math.floor(i / n), at = 4 * (row * n + (i % n));
      const stripes = (i % n + row) % 4 ? [255, 255, 255] : [190, 190, 190];
      const [r, g, b] = outside.has(i) ? stripes : colour(COLOURS[this.layer], (value - low) / range);
      pixels.data.set([r, g, b, 255], at);
    });
    inner.putImageData(pixels, 0, 0);
    pen.imageSmoothingEnabled = !outside.size;
    // half a cell hangs over on every side: values belong to the middle of a pixel
    const w = (right - left) / (n - 1), h = (bottom - top) / (n - 1);
    pen.save();
    pen.beginPath();
    pen.rect(left, top, right - left, bottom - top);
    pen.clip();
    pen.drawImage(image, left - w / 2, top - h / 2, right - left + w, bottom - top + h);
    pen.restore();
    const bar = right + 16;
    for (let y = top; y < bottom; y++) {
      pen.fillStyle = `rgb(${colour(COLOURS[this.layer], (bottom - y) / (bottom - top)).join()})`;
      pen.fillRect(bar, y, 18, 1.5);
    }
    pen.fillStyle = "#16191d";
    pen.font = "15px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    for (const t of ticks(low, high)) pen.fillText(nice(t), bar + 23, bottom - (bottom - top) * (t - low) / range);
  }

  drawCurve(pen) {
    const grid = this.data.grids[0], mean = this.values("mean"), std = this.values("std");
    const line = (values) => values.map((value, i) => this.place(grid[i], value));
    const trace = (points, begin) => points.forEach(([x, y], i) => (i || !begin ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.beginPath();
    if (this.layer === "mean") {
      trace(line(mean.map((m, i) => m + 1.96 * std[i])), true);
      trace(line(mean.map((m, i) => m - 1.96 * std[i])).reverse(), false);
    } else {
      trace(line(std), true);
      trace(line(std.map(() => 0)).reverse(), false);
    }
    pen.fillStyle = "#bfdbec";
    pen.fill();
    pen.beginPath();
    trace(line(this.layer === "mean" ? mean : std), true);
    pen.strokeStyle = "#0072B2";
    pen.lineWidth = 2.5;
    pen.stroke();
  }

  drawAxes(pen) {
    const [left, top, right, bottom] = this.box, [x0, x1, y0, y1] = this.limits();
    pen.strokeStyle = pen.fillStyle = "#16191d";
    pen.lineWidth = 1;
    pen.strokeRect(left, top, right - left, bottom - top);
    pen.font = "15px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (const t of ticks(x0, x1)) { const [x] = this.place(t, y0); pen.fillRect(x, bottom, 1, 6); pen.fillText(nice(t), x, bottom + 9); }
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const t of ticks(y0, y1)) { const [, y] = this.place(x0, t); pen.fillRect(left - 6, y, 6, 1); pen.fillText(nice(t), left - 9, y); }
    pen.font = "16px system-ui, sans-serif";
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    const what = this.layer === "std" ? "Standard deviation of" : this.isMap ? "Mean of" : "Mean and 95% interval of";
    pen.fillText(`${what} ${this.field.label}`, left, top - 12);
    pen.textAlign = "center";
    pen.textBaseline = "bottom";
    pen.fillText(this.data.labels[0], (left + right) / 2, this.canvas.height - 6);
    pen.save();
    pen.translate(16, (top + bottom) / 2);
    pen.rotate(-Math.PI / 2);
    pen.textBaseline = "middle";
    pen.fillText(this.isMap ? this.data.labels[1] : (this.layer === "std" ? "sd of " : "") + this.field.label, 0, 0);
    pen.restore();
  }

  /* black and white, to be seen on any colour */
  drawWalls(pen) {
    const [, top, , bottom] = this.box;
    const stroke = (from, to) => {
      for (const [colour, dash, width] of [["#000000", [], 5], ["#ffffff", [6, 6], 3]]) {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        pen.setLineDash(dash);
        pen.beginPath();
        pen.moveTo(...from);
        pen.lineTo(...to);
        pen.stroke();
      }
      pen.setLineDash([]);
    };
    for (const line of this.data.walls[this.frame]) {
      if (!this.isMap) for (const [x] of line) { const at = this.place(x, 0)[0]; stroke([at, top], [at, bottom]); }
      else if (line.length === 2) stroke(this.place(...line[0]), this.place(...line[1]));
      else for (const point of line) shape(pen, "dot", this.place(...point), "#000000", "#ffffff");
    }
  }

  drawPoints(pen) {
    const at = (point) => (this.isMap ? this.place(...point) : [this.place(point[0], 0)[0], this.box[3]]);
    pen.lineWidth = 1.5;
    for (const [point, i] of this.points("measured")) {
      const curve = !this.isMap && this.layer === "mean" && !this.number;
      shape(pen, "circle", curve ? this.place(point[0], this.data.values[i]) : at(point), "#ffffff", "#000000");
    }
    for (const [point] of this.points("infeasible")) shape(pen, "cross", at(point), "#000000", "#ffffff");
    for (const [point] of this.points("pending")) shape(pen, "square", at(point), "#56B4E9", "#000000");
    const onCurve = !this.isMap && this.layer === "mean" && !this.number;
    const best = this.isMap ? this.place(...this.data.best) : this.place(this.data.best[0], onCurve ? this.data.best_mean : this.limits()[2]);
    if (this.frame === this.data.best_frame) shape(pen, "star", best, "#D55E00", "#ffffff");
    const onMap = this.front && Object.keys(this.front).length === this.data.axes.length;
    this.root.querySelector(".keys .front").hidden = !onMap;
    if (onMap) shape(pen, "diamond", at(this.data.axes.map((name) => this.front[name])), "#E69F00", "#000000");
  }

  drawCursor(pen) {
    const [left, top, right, bottom] = this.box, [i, j] = this.cursor;
    const x = this.place(this.data.grids[0][i], 0)[0];
    pen.setLineDash([5, 4]);
    pen.lineWidth = 1.5;
    pen.strokeStyle = this.isMap ? "#ffffff" : "#595959";
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, bottom);
    if (this.isMap) { const y = this.place(0, this.data.grids[1][j])[1]; pen.moveTo(left, y); pen.lineTo(right, y); }
    pen.stroke();
    pen.setLineDash([]);
  }

  point(event) {
    if (!this.data) return;
    const edge = this.canvas.getBoundingClientRect(), [left, top, right, bottom] = this.box;
    const x = (event.clientX - edge.left) * this.canvas.width / edge.width;
    const y = (event.clientY - edge.top) * this.canvas.height / edge.height;
    const n = this.data.grids[0].length - 1;
    const share = [(x - left) / (right - left), (bottom - y) / (bottom - top)];
    this.move(...share.map((s) => Math.round(n * s)));
  }

  key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step || !this.data) return;
    event.preventDefault();
    const middle = Math.floor(this.data.grids[0].length / 2), [i, j] = this.cursor || [middle, middle];
    this.move(i + step[0], j + step[1]);
  }

  move(i, j) {
    const n = this.data.grids[0].length, inside = (k) => Math.min(Math.max(k, 0), n - 1);
    this.cursor = [inside(i), inside(j)];
    this.tell();
    this.draw();
  }

  /* the value under the cursor */
  tell() {
    if (!this.cursor) return;
    const n = this.data.grids[0].length, [a, b] = this.cursor, index = this.isMap ? b * n + a : a;
    const places = this.data.labels.map((name, k) => `${name} = ${nice(this.data.grids[k][k ? b : a])}`);
    if (this.data.slider) places.push(`${this.data.slider.label} = ${nice(this.data.slider.values[this.frame])}`);
    const value = `${this.field.label} = ${nice(this.values("mean")[index])} ± ${nice(1.96 * this.values("std")[index])} (95%)`;
    this.output.textContent = `${places.join(", ")}: ${this.outside.has(index) ? "outside the domain" : value}`;
  }
}

function shape(pen, kind, [x, y], fill, edge) {
  pen.beginPath();
  if (kind === "circle") pen.arc(x, y, 5, 0, 7);
  else if (kind === "dot") pen.arc(x, y, 3, 0, 7);
  else if (kind === "diamond") { for (const [dx, dy] of [[0, -9], [9, 0], [0, 9], [-9, 0]]) pen.lineTo(x + dx, y + dy); pen.closePath(); }
  else if (kind === "square") pen.rect(x - 6, y - 6, 12, 12);
  else {
    const n = kind === "star" ? 10 : 12;
    for (let k = 0; k < n; k++) {
      const radius = kind === "star" ? (k % 2 ? 5 : 12) : [9, 9, 4][k % 3];
      const turn = kind === "star" ? Math.PI * (k / 5 - 0.5) : Math.PI / 2 * Math.floor(k / 3) + [0.55, 1.02, Math.PI / 2][k % 3];
      pen.lineTo(x + radius * Math.cos(turn), y + radius * Math.sin(turn));
    }
    pen.closePath();
  }
  pen.fillStyle = fill;
  pen.strokeStyle = edge;
  pen.fill();
  pen.stroke();
}
