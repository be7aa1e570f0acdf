// Places of boxes: each open box is laid out by dagre on its own, from the inside out, and is one node of the box around it.
"use strict";

const HEAD = 22, PAD = 12, NODE_HEIGHT = 38;
const EDGE_X = 80;  // of lines in a column
const open = new Set();        // keys of open boxes: the way to them from the root
const layouts = new Map();     // key -> layout, until something inside opens or closes

function textWidth(text) { return Math.ceil(6.9 * text.length) + 18; }
function clip(text, most) { return text.length > most ? text.slice(0, most - 1) + "…" : text; }

function labelOf(item) {
  if (item.members) {
    const about = describeGroup(item);
    return [clip(about.title, 44), clip(about.text, 48)];
  }
  const node = nodeOf(item.graph, item.node);
  return [clip(node[NAME], 34), clip(node[OPCODE] + (node[SHAPE] ? " " + shortShape(node[SHAPE]) : ""), 44)];
}

// What is inside of an open item: boxes, each with items of its own.
function insideOf(item) {
  if (item.members) return null;
  return nodeOf(item.graph, item.node)[CALLS];
}

function canOpen(item) { return !!item.members || insideOf(item).length > 0; }

function graphItems(graph) {
  const cache = graphItems.cache || (graphItems.cache = new Map());
  const key = graph + (model.showConstants ? "c" : "");
  if (!cache.has(key)) cache.set(key, itemsOf(graph));
  return cache.get(key);
}

// The size of an item and, if it is open, the layouts inside: [{key, layout, x, y, title}].
function measure(item, key) {
  if (!open.has(key) || !canOpen(item)) {
    const [first, second] = labelOf(item);
    return { width: Math.max(textWidth(first) + (canOpen(item) ? 14 : 0), textWidth(second), 60), height: NODE_HEIGHT, inner: null };
  }
  const boxes = item.members
    ? [{ key: key + "/m", items: item.members, title: "" }]
    : insideOf(item).map((g, n) => ({ key: key + "/" + n, items: graphItems(g), title: DATA.graphs[g].label }));
  let x = PAD, height = 0;
  const inner = boxes.map(box => {
    const layout = layoutOf(box.items, box.key);
    const placed = { key: box.key, layout, x, y: HEAD + PAD + (box.title ? 14 : 0), title: clip(box.title, Math.max(8, Math.floor(layout.width / 6.5))) };
    x += layout.width + PAD;
    height = Math.max(height, placed.y + layout.height);
    return placed;
  });
  return { width: Math.max(x, textWidth(labelOf(item).join("  ")) + 14), height: height + PAD, inner };
}

// {width, height, items: [{item, key, x, y, width, height, inner}], edges: [points]} of the items of one box.
function layoutOf(items, key) {
  if (layouts.has(key)) return layouts.get(key);
  if (items.some(item => item.members)) return keep(key, columnOf(items, key));
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "TB", nodesep: 12, ranksep: 26, marginx: 4, marginy: 4, ranker: "tight-tree" });
  graph.setDefaultEdgeLabel(() => ({}));
  const owner = new Map(), placed = [];
  items.forEach((item, i) => {
    const itemKey = key + "/" + item.key, size = measure(item, itemKey);
    placed.push({ item, key: itemKey, ...size });
    graph.setNode(i, { width: size.width, height: size.height });
    forEachNode(item, node => owner.set(node, i));
  });
  items.forEach((item, i) => forEachNode(item, n => {
    for (const input of nodeOf(item.graph, n)[INPUTS]) {
      const from = owner.get(input);
      if (from !== undefined && from !== i) graph.setEdge(from, i);
    }
  }));
  dagre.layout(graph);
  const edges = graph.edges().map(e => graph.edge(e).points);
  placed.forEach((p, i) => { const n = graph.node(i); p.x = n.x - n.width / 2; p.y = n.y - n.height / 2; });
  const size = graph.graph();
  const layout = { width: Math.max(size.width || 0, 40), height: Math.max(size.height || 0, 20), items: placed, edges };
  return keep(key, layout);
}

function keep(key, layout) {
  layouts.set(key, layout);
  return layout;
}

// Groups are in an order in which values come before their users: a column, with a line where one uses another's values.
// What lies further apart is shown for what is selected.
function columnOf(items, key) {
  const placed = items.map(item => ({ item, key: key + "/" + item.key, ...measure(item, key + "/" + item.key) }));
  const width = Math.max(...placed.map(p => p.width)) + 8, edges = [];
  let y = 4;
  placed.forEach((p, i) => {
    p.x = 4;
    p.y = y;
    if (i > 0 && usesGroup(p.item, items[i - 1])) {
      const above = placed[i - 1];
      edges.push([{ x: EDGE_X, y: above.y + above.height }, { x: EDGE_X, y }]);
    }
    y += p.height + 22;
  });
  return { width, height: y, items: placed, edges };
}

// Does an item use a value of the one before it?
function usesGroup(item, before) {
  const first = firstNode(before), last = lastNode(before);
  let uses = false;
  forEachNode(item, n => { uses = uses || nodeOf(item.graph, n)[INPUTS].some(i => first <= i && i <= last); });
  return uses;
}

// Opens or closes a box; what contains it is laid out anew.
function setOpen(key, on) {
  if (on) open.add(key); else open.delete(key);
  for (const known of [...layouts.keys()]) if (key.startsWith(known + "/") || known === key) layouts.delete(known);
}

// The keys from the root to a node: every box on the way, and the node's own last.
function wayTo(graph, node) {
  const root = view.root;
  const chain = [];
  for (let g = graph; g !== root; ) {
    const caller = model.callers[g];
    if (!caller) return null;
    chain.unshift({ graph: caller.graph, node: caller.node, called: g });
    g = caller.graph;
  }
  const keys = [];
  let key = "r" + root, items = graphItems(root);
  const descend = target => {
    for (;;) {
      const item = items.find(it => it.members ? firstNode(it) <= target && target <= lastNode(it) : it.node === target);
      if (!item) return null;
      key += "/" + item.key;
      keys.push(key);
      if (!item.members) return item;
      key += "/m";
      items = item.members;
    }
  };
  for (const step of chain) {
    const item = descend(step.node);
    if (!item) return null;
    key += "/" + nodeOf(step.graph, step.node)[CALLS].indexOf(step.called);
    items = graphItems(step.called);
  }
  return descend(node) ? keys : null;
}
