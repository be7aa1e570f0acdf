// The panel about the selected node, and the search.
"use strict";

function escapeHtml(text) {
  return String(text).replace(/[&<>"']/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[c]);
}

const MOST_LINKS = 40;

function linksTo(graph, nodes) {
  const links = nodes.slice(0, MOST_LINKS).map(i => {
    const node = nodeOf(graph, i);
    return `<li><a href="#" data-graph="${graph}" data-node="${i}">${escapeHtml(node[NAME])}</a> <span class="dim">${escapeHtml(node[OPCODE])} ${escapeHtml(shortShape(node[SHAPE]))}</span></li>`;
  });
  if (nodes.length > MOST_LINKS) links.push(`<li class="dim">and ${nodes.length - MOST_LINKS} more</li>`);
  return links.length ? `<ul>${links.join("")}</ul>` : '<p class="dim">none</p>';
}

function showPanel() {
  const panel = document.getElementById("panel");
  if (!view.selected) {
    panel.innerHTML = `<p class="dim">Click a box to see its operands, users, attributes and cost here. Click + to open a fusion, a loop or a group. Drag to move, turn the wheel to zoom.</p>`;
    return;
  }
  const { graph, node: index } = view.selected, node = nodeOf(graph, index), parts = [];
  const row = (title, value) => `<tr><th>${escapeHtml(title)}</th><td>${value}</td></tr>`;
  const shape = node[SHAPE], short = shortShape(shape);
  const rows = [];
  if (shape) rows.push(row("shape", short === shape ? escapeHtml(shape) : `<details><summary>${escapeHtml(short)}</summary>${escapeHtml(shape)}</details>`));
  rows.push(row("in", escapeHtml(DATA.graphs[graph].label)));
  for (const [key, value] of Object.entries(node[DETAILS])) rows.push(row(key.replace("op_name", "name in the program"), `<span class="wrap">${escapeHtml(value)}</span>`));
  if (node[COST]) {
    const [flops, transcendentals, read, written] = node[COST];
    if (flops || transcendentals) rows.push(row("FLOPs", humanNumber(flops) + (transcendentals ? `, ${humanNumber(transcendentals)} of exp, log, tanh, …` : "")));
    rows.push(row("bytes", `${humanBytes(read)} read, ${humanBytes(written)} written`));
    if (flops) rows.push(row("FLOPs per byte", (flops / Math.max(1, read + written)).toPrecision(3)));
  }
  const time = model.times.get(node[NAME]);
  if (time) {
    rows.push(row("time (profile)", `${humanTime(time.us)} in ${time.calls} runs`));
    for (const [key, value] of Object.entries(time.args)) if (key !== "hlo_op") rows.push(row(key, escapeHtml(value)));
  }
  parts.push(`<h2>${escapeHtml(node[NAME])}</h2><p class="opcode">${escapeHtml(node[OPCODE])}</p><table>${rows.join("")}</table>`);
  const called = node[CALLS].map(g => `<li>${escapeHtml(DATA.graphs[g].label)} <a href="#" data-open="${g}">open</a></li>`).join("");
  if (called) parts.push(`<h3>Calls</h3><ul>${called}</ul>`);
  parts.push(`<h3>Operands (${node[INPUTS].length})</h3>${linksTo(graph, node[INPUTS])}`);
  const users = model.users[graph][index];
  parts.push(`<h3>Users (${users.length})</h3>${linksTo(graph, users)}`);
  panel.innerHTML = parts.join("");
}

// Shows a node: opens what it is in and, if `move`, brings it to the middle.
function select(graph, node, move) {
  view.selected = { graph, node };
  if (!isShown(nodeOf(graph, node))) setConstants(true);
  let keys = wayTo(graph, node);
  if (!keys) { setRoot(graph); keys = wayTo(graph, node); }
  let opened = false;
  for (const key of keys.slice(0, -1)) if (!open.has(key)) { setOpen(key, true); opened = true; }
  if (opened) draw(); else drawSelection();
  if (move) center(view.places.get(keys[keys.length - 1]));
  showPanel();
}

function openCalled(called) {
  const { graph, node } = view.selected, keys = wayTo(graph, node), key = keys[keys.length - 1];
  if (!open.has(key)) toggle(key);
  center(view.places.get(key));
}

const found = { all: [], at: -1 };

function search(query) {
  query = query.trim().toLowerCase();
  found.all = [];
  found.at = -1;
  if (query) {
    const graphs = [...DATA.graphs.keys()].sort((a, b) => (b === DATA.entry) - (a === DATA.entry) || a - b);
    for (const g of graphs) DATA.graphs[g].nodes.forEach((node, i) => {
      const about = node[DETAILS];
      if ((node[NAME] + " " + node[OPCODE] + " " + (about.op_name || "") + " " + (about.source || "")).toLowerCase().includes(query)) found.all.push([g, i]);
    });
  }
  step(1);
}

// Goes to the next (1) or previous (-1) match.
function step(by) {
  const count = document.getElementById("count");
  if (!found.all.length) { count.textContent = document.getElementById("search").value ? "none" : ""; return; }
  found.at = (found.at + by + found.all.length) % found.all.length;
  count.textContent = `${found.at + 1} of ${found.all.length}`;
  select(...found.all[found.at], true);
}

function listenToPanel() {
  document.getElementById("panel").addEventListener("click", e => {
    const link = e.target.closest("a");
    if (!link) return;
    e.preventDefault();
    if (link.dataset.open) openCalled(Number(link.dataset.open));
    else select(Number(link.dataset.graph), Number(link.dataset.node), true);
  });
  const field = document.getElementById("search");
  let timer = 0;
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => search(field.value), 150); });
  field.addEventListener("keydown", e => { if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); } });
  document.getElementById("next").addEventListener("click", () => step(1));
  document.getElementById("previous").addEventListener("click", () => step(-1));
}
