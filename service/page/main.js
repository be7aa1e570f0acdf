// Tabs, tables, memory over time, and the start.
"use strict";

function setRoot(graph) {
  view.root = graph;
  document.getElementById("root").value = graph;
  draw();
  fit();
}

function setConstants(on) {
  model.showConstants = on;
  document.getElementById("constants").checked = on;
  layouts.clear();
  draw();
}

function showTab(name) {
  for (const tab of document.querySelectorAll("[data-tab]")) tab.classList.toggle("on", tab.dataset.tab === name);
  for (const page of document.querySelectorAll(".page")) page.hidden = page.id !== name;
  if (name === "memory") drawMemory();
}

// A number of about `most` round steps up to `end`.
function roundStep(end, most, binary) {
  let unit = 1;
  const factors = binary ? [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] : [1, 2, 5];
  for (;;) {
    for (const f of factors) if (end / (unit * f) <= most) return unit * f;
    unit *= binary ? 1024 : 10;
  }
}

// How many bytes hold values at each step; where one value takes over another's place, the place counts once.
function bytesInUse(memory) {
  const starts = Array.from({ length: memory.steps }, () => []), live = new Array(memory.steps).fill(0);
  for (const value of memory.values) starts[value[3]].push(value);
  let here = [];
  for (let step = 0; step < memory.steps; ++step) {
    const stay = here.filter(v => v[4] >= step);
    if (step > 0 && stay.length === here.length && !starts[step].length) { live[step] = live[step - 1]; continue; }
    here = stay.concat(starts[step]).sort((a, b) => a[1] - b[1]);
    let end = 0;
    for (const [, offset, size] of here) {
      live[step] += Math.max(0, offset + size - Math.max(offset, end));
      end = Math.max(end, offset + size);
    }
  }
  return live;
}

function drawMemory() {
  const page = document.getElementById("memory");
  if (page.dataset.drawn) return;
  page.dataset.drawn = "1";
  const memory = DATA.memory, left = 90, top = 30, width = 1000, height = 380;
  const live = bytesInUse(memory);
  let peak = 0, peakStep = 0;
  live.forEach((bytes, i) => { if (bytes > peak) { peak = bytes; peakStep = i; } });
  const most = Math.max(memory.bytes, peak, 1);
  const x = step => left + width * step / memory.steps, y = bytes => top + height - height * bytes / most;
  const svg = element("svg", { viewBox: `0 0 ${left + width + 40} ${top + height + 60}`, class: "memory" });
  const gap = roundStep(most, 6, true);
  for (let b = 0; b <= most; b += gap) {
    element("line", { x1: left, x2: left + width, y1: y(b), y2: y(b), class: "grid" }, svg);
    element("text", { x: left - 8, y: y(b) + 4, class: "axis right" }, svg).textContent = humanBytes(b);
  }
  const stepGap = roundStep(memory.steps, 10, false);
  for (let s = 0; s <= memory.steps; s += stepGap) element("text", { x: x(s), y: top + height + 18, class: "axis mid" }, svg).textContent = s;
  element("text", { x: left + width / 2, y: top + height + 40, class: "axis mid" }, svg).textContent = "position of the instruction in the schedule";
  element("text", { x: left, y: 16, class: "axis" }, svg).textContent = "address in temporary memory";
  memory.values.forEach(([name, offset, size, begin, end], i) => {
    const rect = element("rect", { x: x(begin), y: y(offset + size), width: Math.max(0.8, x(end + 1) - x(begin)), height: Math.max(0.8, y(offset) - y(offset + size)), fill: `hsl(${i * 47 % 360},55%,72%)`, class: "value", "data-value": name }, svg);
    element("title", {}, rect).textContent = `${name}: ${humanBytes(size)} at ${humanBytes(offset)}, steps ${begin} to ${end}`;
  });
  let d = "";
  for (let i = 0; i < memory.steps; ++i) d += (i ? "L" : "M") + x(i + 0.5).toFixed(1) + "," + y(live[i]).toFixed(1);
  element("path", { d, class: "live" }, svg);
  element("line", { x1: x(peakStep + 0.5), x2: x(peakStep + 0.5), y1: top, y2: top + height, class: "peak" }, svg);
  const late = peakStep > memory.steps * 0.6;
  element("text", { x: x(peakStep + 0.5) + (late ? -6 : 6), y: top + 12, class: "axis halo" + (late ? " right" : "") }, svg).textContent = `most in use: ${humanBytes(peak)} at step ${peakStep}`;
  const atPeak = memory.values.filter(v => v[3] <= peakStep && peakStep <= v[4]).sort((a, b) => b[2] - a[2]);
  const rows = atPeak.slice(0, 30).map(([name, offset, size, begin, end]) => `<tr><td><a href="#" data-value="${escapeHtml(name)}">${escapeHtml(name)}</a></td><td class="number">${humanBytes(size)}</td><td class="number">${(100 * size / peak).toFixed(1)} %</td><td class="number">${begin}</td><td class="number">${end}</td></tr>`);
  const more = atPeak.length > 30 ? `<p class="dim">and ${atPeak.length - 30} smaller values</p>` : "";
  page.innerHTML = `<h2>Temporary memory over time</h2><p>The program's temporary memory has ${humanBytes(memory.bytes)}; at most ${humanBytes(peak)} of it hold values at once, at step ${peakStep} of ${memory.steps}. The line shows how much is in use.</p>`;
  page.appendChild(svg);
  page.insertAdjacentHTML("beforeend", `<h3>In use at that step: ${atPeak.length} values</h3><table class="list"><tr><th>value</th><th>size</th><th>of the most in use</th><th>from step</th><th>to step</th></tr>${rows.join("")}</table>${more}`);
  page.addEventListener("click", e => {
    const value = e.target.closest("[data-value]");
    if (!value) return;
    e.preventDefault();
    const name = value.dataset.value.replace(/ leaf \d+$/, ""), at = DATA.graphs[DATA.entry].nodes.findIndex(n => n[NAME] === name);
    if (at < 0) return;
    showTab("graph");
    select(DATA.entry, at, true);
  });
}

// A table as page.h has it; long cells are closed at first.
function tableHtml(table) {
  const cell = text => text.length > 90 ? `<details><summary>${escapeHtml(text.slice(0, 70))}…</summary>${escapeHtml(text)}</details>` : escapeHtml(text);
  const numbers = table.columns.map((_, c) => table.rows.length > 0 && table.rows.every(r => /^$|^[-–]$|^[\d.,]+( %|×| times)?$/.test(r[c])));
  const rows = table.rows.map((row, i) => `<tr class="${(table.styles || [])[i] || ""}">${row.map((text, c) => `<td${numbers[c] ? ' class="number"' : ""}>${cell(text)}</td>`).join("")}</tr>`).join("");
  return `<details ${table.closed ? "" : "open"}><summary><h3>${escapeHtml(table.title)}</h3></summary>${table.note ? `<p>${escapeHtml(table.note)}</p>` : ""}<table class="list"><tr>${table.columns.map(c => `<th>${escapeHtml(c)}</th>`).join("")}</tr>${rows}</table></details>`;
}

function start() {
  document.getElementById("headline").textContent = DATA.headline;
  document.getElementById("facts").innerHTML = DATA.facts.map(f => `<span>${escapeHtml(f)}</span>`).join("");
  document.getElementById("tables").innerHTML = DATA.tables.map(tableHtml).join("");
  const has = { graph: DATA.graphs.length > 0, tables: DATA.tables.length > 0, memory: !!DATA.memory };
  for (const tab of document.querySelectorAll("[data-tab]")) {
    tab.hidden = !has[tab.dataset.tab];
    tab.addEventListener("click", () => showTab(tab.dataset.tab));
  }
  if (has.graph) {
    prepareModel();
    if (!model.times.size) document.querySelector("#measure [value=time]").remove();
    if (!DATA.graphs.some(g => g.nodes.some(n => n[COST]))) for (const v of ["flops", "bytes"]) document.querySelector(`#measure [value=${v}]`).remove();
    const roots = document.getElementById("root");
    DATA.graphs.forEach((g, i) => roots.add(new Option(g.label, i)));
    if (model.times.size) document.getElementById("measure").value = view.measure = "time";
    roots.addEventListener("change", () => setRoot(Number(roots.value)));
    document.getElementById("measure").addEventListener("change", e => { view.measure = e.target.value; draw(); });
    document.getElementById("constants").addEventListener("change", e => setConstants(e.target.checked));
    document.getElementById("in").addEventListener("click", () => zoom(1.3));
    document.getElementById("out").addEventListener("click", () => zoom(1 / 1.3));
    document.getElementById("fit").addEventListener("click", fit);
    listenToPicture();
    listenToPanel();
  }
  showTab(has.graph ? "graph" : "tables");
  if (has.graph) { setRoot(DATA.entry); showPanel(); }
  document.documentElement.dataset.ready = "1";
}

start();
