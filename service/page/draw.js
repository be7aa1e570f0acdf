// The picture: boxes and edges as SVG, panned by dragging, zoomed by the wheel.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const KINDS = {
  parameter: "#dbeafe", constant: "#eeeeee", fusion: "#fde8c4", dot: "#fbd3d3", control: "#e5d9f6", group: "#f1f4f9",
  compiled: "#cdeccd", host: "#f3d9d9", other: "#e3f1e8",
};
const KIND_TITLES = {
  parameter: "parameter", constant: "constant", fusion: "fusion", dot: "dot, convolution", control: "loop, branch, call",
  compiled: "compiled", host: "stays with the host", other: "other", group: "group of neighbours",
};
const view = { root: 0, x: 0, y: 0, scale: 1, selected: null, measure: "kind", places: new Map(), items: [] };

function element(name, attributes, parent) {
  const e = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  if (parent) parent.appendChild(e);
  return e;
}

// What the measure gives for an item: of a group, the sum.
function sumOf(item) {
  let sum = 0;
  forEachNode(item, n => { sum += MEASURES[view.measure].value(nodeOf(item.graph, n)); });
  return sum;
}

// `largest`: the largest sum beside the item, which gets the strongest colour.
function fillOf(item, largest) {
  if (!largest) return item.members ? KINDS.group : KINDS[nodeOf(item.graph, item.node)[KIND]] || KINDS.other;
  const sum = sumOf(item), part = Math.sqrt(sum / largest);
  return sum === 0 ? "#ffffff" : `hsl(${50 - 45 * part},95%,${96 - 26 * part}%)`;
}

function drawLayout(layout, x, y, parent) {
  const largest = MEASURES[view.measure].value ? Math.max(1e-9, ...layout.items.map(placed => sumOf(placed.item))) : 0;
  for (const points of layout.edges) {
    element("path", { class: "edge", d: pathOf(points.map(p => [p.x + x, p.y + y])) }, parent);
  }
  for (const placed of layout.items) drawItem(placed, x + placed.x, y + placed.y, parent, largest);
}

function pathOf(points) {
  let d = `M${points[0][0].toFixed(1)},${points[0][1].toFixed(1)}`;
  for (let i = 1; i < points.length - 1; ++i) {
    const [px, py] = points[i], [nx, ny] = points[i + 1];
    const ex = i === points.length - 2 ? nx : (px + nx) / 2, ey = i === points.length - 2 ? ny : (py + ny) / 2;
    d += ` Q${px.toFixed(1)},${py.toFixed(1)} ${ex.toFixed(1)},${ey.toFixed(1)}`;
  }
  if (points.length === 2) d += ` L${points[1][0].toFixed(1)},${points[1][1].toFixed(1)}`;
  return d;
}

function drawItem(placed, x, y, parent, largest) {
  const { item, key, width, height, inner } = placed;
  const group = element("g", { class: "item" + (inner ? " open" : ""), "data-key": key }, parent);
  const isRoot = !item.members && DATA.graphs[item.graph].root === item.node;
  element("rect", { x, y, width, height, rx: item.members ? 10 : 5, fill: fillOf(item, largest), class: (isRoot ? "root " : "") + (canOpen(item) ? "can-open" : "") }, group);
  const [first, second] = labelOf(item);
  view.places.set(key, { x, y, width, height, item });
  if (inner) {
    element("rect", { x: x + 1, y: y + HEAD, width: width - 2, height: height - HEAD - 1, rx: 4, class: "inside" }, group);
    text(group, x + 22, y + 15, (item.members ? first + ": " : first + "  ") + second, "name");
  } else {
    text(group, x + (canOpen(item) ? 22 : 8), y + 15, first, "name");
    text(group, x + 8, y + 30, second, "about");
  }
  if (canOpen(item)) {
    const toggle = element("g", { class: "toggle", "data-toggle": key }, group);
    element("rect", { x: x + 5, y: y + 5, width: 12, height: 12, rx: 2 }, toggle);
    text(toggle, x + 8, y + 15, inner ? "−" : "+", "sign");
  }
  for (const box of inner || []) {
    if (box.title) text(group, x + box.x, y + box.y - 3, box.title, "about");
    drawLayout(box.layout, x + box.x, y + box.y, group);
  }
}

function text(parent, x, y, content, kind) {
  element("text", { x, y, class: kind }, parent).textContent = content;
}

function draw() {
  const scene = document.getElementById("scene");
  scene.textContent = "";
  view.places.clear();
  const layout = layoutOf(graphItems(view.root), "r" + view.root);
  view.width = layout.width;
  view.height = layout.height;
  view.items = layout.items;
  drawLayout(layout, 0, 0, scene);
  drawSelection();
  drawLegend();
  place();
}

function place() {
  document.getElementById("scene").setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.scale})`);
}

// The box that stands for a node in the picture: its own, or the closed one around it.
function placeOf(graph, node) {
  const keys = wayTo(graph, node);
  return keys && keys.map(k => view.places.get(k)).filter(Boolean).pop();
}

function drawSelection() {
  const scene = document.getElementById("scene");
  scene.querySelectorAll(".lit").forEach(e => e.remove());
  const chosen = view.selected;
  const at = chosen && placeOf(chosen.graph, chosen.node);
  if (!at) return;
  const lines = element("g", { class: "lit" }, scene);
  const connect = (from, to, kind) => {
    if (from === to) return;
    const x1 = from.x + from.width / 2, y1 = from.y + from.height, x2 = to.x + to.width / 2, y2 = to.y;
    const bend = Math.max(20, Math.abs(y2 - y1) / 2);
    element("path", { class: kind, d: `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}` }, lines);
  };
  for (const input of new Set(nodeOf(chosen.graph, chosen.node)[INPUTS])) {
    const from = placeOf(chosen.graph, input);
    if (from) connect(from, at, "operand");
  }
  for (const user of model.users[chosen.graph][chosen.node].slice(0, 200)) {
    const to = placeOf(chosen.graph, user);
    if (to) connect(at, to, "user");
  }
  element("rect", { x: at.x - 2, y: at.y - 2, width: at.width + 4, height: at.height + 4, rx: 6, class: "chosen" }, lines);
}

function drawLegend() {
  const legend = document.getElementById("legend"), measure = MEASURES[view.measure];
  if (measure.value) {
    const total = view.items.reduce((sum, placed) => sum + sumOf(placed.item), 0);
    legend.innerHTML = `<span class="scale"></span> ${escapeHtml(measure.title)}: white is none, red the most of a box among its neighbours; ${escapeHtml(measure.text(total))} in all`;
    return;
  }
  const kinds = new Set(DATA.graphs[view.root].nodes.filter(isShown).map(n => n[KIND]));
  legend.innerHTML = [...kinds].map(k => `<span class="patch" style="background:${KINDS[k] || KINDS.other}"></span>${escapeHtml(KIND_TITLES[k] || k)}`).join(" ");
}

function fit() {
  const area = document.getElementById("picture").getBoundingClientRect();
  view.scale = Math.min(1.2, Math.max(0.05, Math.min(area.width / (view.width + 40), area.height / (view.height + 40))));
  // A tall picture is read from the top, at a size that can be read.
  if (view.scale < 0.45) view.scale = Math.min(0.8, Math.max(0.45, area.width / (view.width + 40)));
  view.x = (area.width - view.width * view.scale) / 2;
  view.y = Math.max(16, (area.height - view.height * view.scale) / 2);
  place();
}

function zoom(factor, x, y) {
  const area = document.getElementById("picture").getBoundingClientRect();
  const px = x === undefined ? area.width / 2 : x - area.left, py = y === undefined ? area.height / 2 : y - area.top;
  const scale = Math.min(4, Math.max(0.03, view.scale * factor));
  view.x = px - (px - view.x) * scale / view.scale;
  view.y = py - (py - view.y) * scale / view.scale;
  view.scale = scale;
  place();
}

// Moves a place to the middle of the picture.
function center(at) {
  const area = document.getElementById("picture").getBoundingClientRect();
  view.scale = Math.max(view.scale, 0.6);
  view.x = area.width / 2 - (at.x + at.width / 2) * view.scale;
  view.y = area.height / 2 - (at.y + Math.min(at.height, area.height / 2) / 2) * view.scale;
  place();
}

function toggle(key) {
  const before = view.places.get(key);
  const screenX = before.x * view.scale + view.x, screenY = before.y * view.scale + view.y;
  setOpen(key, !open.has(key));
  draw();
  const after = view.places.get(key);
  view.x = screenX - after.x * view.scale;
  view.y = screenY - after.y * view.scale;
  place();
}

function listenToPicture() {
  const picture = document.getElementById("picture");
  let from = null, moved = false;
  picture.addEventListener("wheel", e => { e.preventDefault(); zoom(Math.exp(-e.deltaY * 0.0015), e.clientX, e.clientY); }, { passive: false });
  picture.addEventListener("pointerdown", e => { from = { x: e.clientX - view.x, y: e.clientY - view.y, sx: e.clientX, sy: e.clientY }; moved = false; });
  window.addEventListener("pointermove", e => {
    if (!from) return;
    if (Math.abs(e.clientX - from.sx) + Math.abs(e.clientY - from.sy) > 4) moved = true;
    if (!moved) return;
    view.x = e.clientX - from.x;
    view.y = e.clientY - from.y;
    place();
  });
  window.addEventListener("pointerup", () => { from = null; });
  picture.addEventListener("click", e => {
    if (moved) return;
    const toggled = e.target.closest("[data-toggle]");
    if (toggled) return toggle(toggled.dataset.toggle);
    const item = e.target.closest("[data-key]");
    if (!item) return;
    const at = view.places.get(item.dataset.key);
    if (at.item.members) return toggle(item.dataset.key);
    select(at.item.graph, at.item.node, false);
  });
  picture.addEventListener("dblclick", e => {
    const item = e.target.closest("[data-key]");
    if (item && canOpen(view.places.get(item.dataset.key).item)) toggle(item.dataset.key);
  });
}
