// What the page shows, from the JSON in it: graphs, their users, groups of large graphs, and how each graph is reached.
"use strict";

const DATA = JSON.parse(document.getElementById("data").textContent);
const TRACE = parseTrace(document.getElementById("trace").textContent);
// Graphs with more items than MOST_DRAWN are cut into groups of MOST_ITEMS neighbours at most, and these into groups.
const MOST_DRAWN = 48, MOST_ITEMS = 36;

// Fields of a node as page.h has them.
const NAME = 0, OPCODE = 1, SHAPE = 2, KIND = 3, INPUTS = 4, CALLS = 5, DETAILS = 6, COST = 7;

const model = { users: [], callers: [], times: new Map(), showConstants: false };

// A file that is no JSON is shown as no profile at all.
function parseTrace(text) {
  try { return JSON.parse(text); } catch (error) { console.warn("the profile cannot be read: " + error); return null; }
}

function nodeOf(graph, i) { return DATA.graphs[graph].nodes[i]; }

function prepareModel() {
  DATA.graphs.forEach((graph, g) => {
    const users = graph.nodes.map(() => []);
    graph.nodes.forEach((node, i) => { for (const input of new Set(node[INPUTS])) users[input].push(i); });
    model.users.push(users);
    model.callers.push(null);
  });
  // The shortest way from the entry to each graph.
  const queue = [DATA.entry], seen = new Set(queue);
  for (let at = 0; at < queue.length; ++at) {
    DATA.graphs[queue[at]].nodes.forEach((node, i) => {
      for (const called of node[CALLS]) {
        if (seen.has(called)) continue;
        seen.add(called);
        model.callers[called] = { graph: queue[at], node: i };
        queue.push(called);
      }
    });
  }
  for (const event of (TRACE && (TRACE.traceEvents || TRACE)) || []) {
    if (event.ph !== "X" || !event.args || !event.args.hlo_op) continue;
    for (const name of String(event.args.hlo_op).split(",")) {
      const known = model.times.get(name) || { us: 0, calls: 0, args: event.args };
      known.us += event.dur;
      known.calls += 1;
      model.times.set(name, known);
    }
  }
}

function isShown(node) { return model.showConstants || node[KIND] !== "constant"; }

// The items of a graph: {graph, node} for a node, {graph, members, label} for a group of items.
function itemsOf(graph) {
  let items = [];
  DATA.graphs[graph].nodes.forEach((node, i) => { if (isShown(node)) items.push({ graph, node: i, key: "n" + i }); });
  for (let most = MOST_DRAWN; items.length > most; most = MOST_ITEMS) {
    const groups = Math.ceil(items.length / MOST_ITEMS), groupSize = Math.ceil(items.length / groups), next = [];
    for (let at = 0; at < items.length; at += groupSize) {
      const members = items.slice(at, at + groupSize);
      next.push({ graph, members, key: "g" + firstNode(members[0]) + "-" + lastNode(members[members.length - 1]) });
    }
    items = next;
  }
  return items;
}

function firstNode(item) { return item.members ? firstNode(item.members[0]) : item.node; }
function lastNode(item) { return item.members ? lastNode(item.members[item.members.length - 1]) : item.node; }

function forEachNode(item, f) {
  if (item.members) item.members.forEach(m => forEachNode(m, f));
  else f(item.node);
}

// What a group is about: the part that the names of its operations in the program share, and its commonest opcodes.
function describeGroup(item) {
  if (item.about) return item.about;
  const counts = new Map();
  let shared = null, count = 0;
  forEachNode(item, i => {
    const node = nodeOf(item.graph, i);
    ++count;
    counts.set(node[OPCODE], (counts.get(node[OPCODE]) || 0) + 1);
    const name = (node[DETAILS].op_name || "").split("/");
    if (name.length < 2) return;
    if (shared === null) shared = name;
    let same = 0;
    while (same < shared.length && same < name.length && shared[same] === name[same]) ++same;
    shared = shared.slice(0, same);
  });
  const common = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([op, n]) => n + " " + op).join(", ");
  const place = shared && shared.length > 1 ? shared.slice(-2).join("/") : "";
  item.about = { title: count + " " + DATA.unit + (place ? " · " + place : ""), text: common };
  return item.about;
}

// "(f32[2], f32[3], s32[], … 9 more)" of a tuple of more than three shapes.
function shortShape(shape) {
  if (shape[0] !== "(") return shape;
  const parts = [];
  let depth = 0, from = 1;
  for (let i = 1; i < shape.length; ++i) {
    const c = shape[i];
    if (c === "(" || c === "[" || c === "{") ++depth;
    if ((c === "," && depth === 0) || i === shape.length - 1) { parts.push(shape.slice(from, i).trim()); from = i + 1; }
    if (c === ")" || c === "]" || c === "}") --depth;
  }
  if (parts.length <= 3) return shape;
  return "(" + parts.slice(0, 3).map(shortShape).join(", ") + ", … " + (parts.length - 3) + " more)";
}

function humanNumber(n) {
  const units = ["", " thousand", " million", " billion", " trillion", " quadrillion"];
  let unit = 0;
  while (Math.abs(n) >= 1000 && unit < units.length - 1) { n /= 1000; ++unit; }
  return (unit || n % 1 ? n.toPrecision(3) : String(n)) + units[unit];
}

function humanBytes(n) {
  const units = [" bytes", " KiB", " MiB", " GiB", " TiB"];
  let unit = 0;
  while (Math.abs(n) >= 1024 && unit < units.length - 1) { n /= 1024; ++unit; }
  return (unit ? n.toPrecision(3) : String(n)) + units[unit];
}

function humanTime(us) { return us >= 1e6 ? (us / 1e6).toPrecision(3) + " s" : us >= 1e3 ? (us / 1e3).toPrecision(3) + " ms" : us.toPrecision(3) + " µs"; }

// What nodes are coloured by: a number for each, or null where the kind of the node decides.
const MEASURES = {
  kind: { title: "kind of operation", value: null },
  flops: { title: "FLOPs", value: node => node[COST] ? node[COST][0] : 0, text: n => humanNumber(n) + " FLOPs" },
  bytes: { title: "bytes read and written", value: node => node[COST] ? node[COST][2] + node[COST][3] : 0, text: humanBytes },
  time: { title: "time (profile)", value: node => (model.times.get(node[NAME]) || { us: 0 }).us, text: humanTime },
};
