// Small multiples of all layers and the large map, with their controls.
const form = document.getElementById("map-controls");
const state = {cell: 0, place: 0, view: "raw", range: "quantile", reference: 0};
const fixed = {}; // by view: [from, to]
const thumbs = [...document.querySelectorAll(".thumb")];
const large = document.getElementById("large");
const largeCanvas = large.querySelector("canvas");
const svg = d3.select(large).select("svg");
const tip = document.getElementById("tip");
let frame = null; // of the large map: {left, top, size, x}

const paletteOf = view => view === "raw" ? data.sequential : data.diverging;
const css = colour => "#" + colour.toString(16).padStart(6, "0");

function rangeOf(place) {
  if (state.range === "quantile") return ownRange(state, place);
  if (state.range === "shared") return sharedRange(state);
  fixed[state.view] = fixed[state.view] || sharedRange(state).map(v => Number(v.toPrecision(3)));
  return fixed[state.view];
}

function paint(canvas, place) {
  const {side} = data, values = valuesOf(state, place), palette = paletteOf(state.view);
  const [low, high] = rangeOf(place);
  canvas.width = canvas.height = side;
  const context = canvas.getContext("2d"), image = context.createImageData(side, side);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < values.length; ++at) {
    if (Number.isNaN(values[at])) continue; // transparent
    const part = Math.min(1, Math.max(0, (values[at] - low) / (high - low)));
    const rgb = palette[Math.round(255 * part)];
    pixels[at] = (255 << 24 | (rgb & 255) << 16 | (rgb >> 8 & 255) << 8 | rgb >> 16) >>> 0;
  }
  context.putImageData(image, 0, 0);
}

function inWords() {
  if (state.view === "raw") return "mean score";
  if (state.view === "normalised") return "mean score minus its diagonal’s mean";
  return `minus ${data.cells[state.reference].title}`;
}

// The colours as a bar of 64 rectangles, which print as they look.
function colourBar(group, range, size) {
  const palette = paletteOf(state.view), steps = 64;
  const y = d3.scaleLinear().domain(range).range([size, 0]);
  const cells = group.selectAll("rect").data(d3.range(steps));
  cells.enter().append("rect").merge(cells)
    .attr("x", 0).attr("width", 11).attr("height", size / steps + 0.6)
    .attr("y", k => size * (1 - (k + 1) / steps))
    .attr("fill", k => css(palette[Math.round(255 * (k + 0.5) / steps)]));
  group.select(".bar-axis").attr("transform", "translate(11,0)")
    .call(d3.axisRight(y).ticks(6).tickSize(4));
}

function drawLarge() {
  const title = data.cells[state.cell].title, layer = data.layers[state.place] + 1;
  large.querySelector("figcaption").innerHTML = "";
  d3.select(large).select("figcaption")
    .call(caption => caption.append("b").text(`Layer ${layer}`))
    .call(caption => caption.append("span").text(` ${title}; ${inWords()}`));
  const plot = large.querySelector(".plot"), width = plot.clientWidth;
  const left = 46, right = 62, top = 8, bottom = 42;
  const size = Math.max(120, Math.min(560, width - left - right));
  plot.style.height = `${size + top + bottom}px`;
  frame = {left, top, size};
  Object.assign(largeCanvas.style,
    {left: `${left}px`, top: `${top}px`, width: `${size}px`, height: `${size}px`});
  paint(largeCanvas, state.place);

  const ends = [-0.5, data.n - 0.5];
  const x = d3.scaleLinear().domain(ends).range([0, size]);
  const ticks = Math.min(size > 300 ? 6 : 4, data.n - 1);
  const axis = make => make(x).ticks(ticks).tickFormat(d3.format("d")).tickSize(4);
  svg.attr("width", size + left + right).attr("height", size + top + bottom)
    .attr("aria-label", `${title}, layer ${layer}: ${inWords()} by query and key`);
  if (svg.select("g").empty()) {
    for (const name of ["x-axis", "y-axis", "bar"]) svg.append("g").attr("class", name);
    svg.select(".bar").append("g").attr("class", "bar-axis");
    svg.append("text").attr("class", "x-title").attr("text-anchor", "middle").text("key position");
    svg.append("text").attr("class", "y-title").attr("text-anchor", "middle")
      .text("query position");
    svg.append("path").attr("class", "cross");
  }
  svg.select(".x-axis").attr("transform", `translate(${left},${top + size})`)
    .call(axis(d3.axisBottom));
  svg.select(".y-axis").attr("transform", `translate(${left},${top})`).call(axis(d3.axisLeft));
  svg.select(".x-title").attr("x", left + size / 2).attr("y", top + size + 36);
  svg.select(".y-title").attr("transform", `translate(11,${top + size / 2}) rotate(-90)`);
  svg.select(".cross").attr("d", null);
  svg.select(".bar").attr("transform", `translate(${left + size + 12},${top})`)
    .call(colourBar, rangeOf(state.place), size);
  large.querySelector(".note").textContent = data.block > 1
    ? `One pixel is the mean of ${data.block} × ${data.block} pairs.` : "";
}

function drawAll() {
  for (const thumb of thumbs) {
    const place = Number(thumb.dataset.place);
    paint(thumb.querySelector("canvas"), place);
    thumb.setAttribute("aria-pressed", String(place === state.place));
  }
  const chosen = {cell: String(state.cell), view: state.view, range: state.range};
  for (const [name, value] of Object.entries(chosen)) {
    for (const input of form.querySelectorAll(`input[name=${name}]`)) {
      input.checked = input.value === value;
    }
  }
  form.elements.reference.value = String(state.reference);
  form.classList.toggle("subtracts", state.view === "difference");
  form.classList.toggle("fixes", state.range === "fixed");
  drawLarge();
  if (state.range === "fixed") {
    [form.elements.from.value, form.elements.to.value] = rangeOf(state.place);
  }
  drawCurves();
}

function change(what) {
  const before = {...state};
  Object.assign(state, what);
  // A map minus itself says nothing.
  if (state.view === "difference" && before.view !== "difference" &&
      state.cell === state.reference) {
    state.cell = state.cell === 0 ? Math.min(1, data.cells.length - 1) : state.cell;
    state.reference = 0;
  }
  tip.hidden = true;
  drawAll();
}

const span = (block, extent) => extent === 1 ? `${block * data.block}`
  : `${block * data.block} to ${block * data.block + extent - 1}`;

function samplesIn(at) {
  const cell = data.cells[state.cell];
  const [least, most] = cell.blocks ? [cell.blocks.least[at], cell.blocks.most[at]] : cell.samples;
  return least === most ? `${most} samples` : `${least} to ${most} samples`;
}

// Query, key, score and count under a point of the large map, in CSS pixels from its corner.
function readAt(x, y) {
  const {side} = data;
  const block = place => Math.min(side - 1, Math.max(0,
    Math.floor(place / frame.size * data.n / data.block)));
  const key = block(x), query = block(y), at = query * side + key;
  const value = valuesOf(state, state.place)[at];
  const where = `query ${span(query, extentOf(query))}, key ${span(key, extentOf(key))}`;
  if (Number.isNaN(value)) return {query, key, text: `${where}\nhidden by the mask`};
  const what = {raw: "score", normalised: "above its diagonal’s mean by", difference: "difference"};
  const number = fixedNumber(value, decimalsOf(state, state.place, at));
  const mean = data.block > 1 ? " (mean)" : "";
  return {query, key, text: `${where}\n${what[state.view]} ${number}${mean}\n${samplesIn(at)}`};
}

// Shows a text beside what is pointed at.
function showTip(text, event) {
  tip.textContent = text;
  tip.hidden = false;
  const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
  tip.style.left = `${Math.max(4, right ? event.clientX - 14 - tip.offsetWidth
    : event.clientX + 14)}px`;
  tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 12)}px`;
}

function point(event) {
  const box = largeCanvas.getBoundingClientRect();
  const read = readAt(event.clientX - box.left, event.clientY - box.top);
  const middle = block => frame.size * (block * data.block + extentOf(block) / 2) / data.n;
  const x = frame.left + middle(read.key), y = frame.top + middle(read.query);
  svg.select(".cross").attr("d", `M${frame.left} ${y}H${frame.left + frame.size}` +
    `M${x} ${frame.top}V${frame.top + frame.size}`);
  showTip(read.text, event);
}

largeCanvas.addEventListener("pointermove", point);
largeCanvas.addEventListener("pointerdown", point);
largeCanvas.addEventListener("pointerleave", () => {
  tip.hidden = true;
  svg.select(".cross").attr("d", null);
});
for (const thumb of thumbs) {
  thumb.addEventListener("click", () => {
    change({place: Number(thumb.dataset.place)});
    const box = large.getBoundingClientRect();
    if (box.top < 0 || box.top > innerHeight - 200) large.scrollIntoView({block: "nearest"});
  });
}
form.addEventListener("submit", event => event.preventDefault());
form.addEventListener("change", event => {
  const {name, value} = event.target;
  if (name === "cell" || name === "reference") change({[name]: Number(value)});
  if (name === "view" || name === "range") change({[name]: value});
  if (name === "from" || name === "to") {
    const range = [form.elements.from.valueAsNumber, form.elements.to.valueAsNumber];
    if (range[0] < range[1]) fixed[state.view] = range;
    change({});
  }
});

const KEYS = {
  ArrowLeft: () => ({place: Math.max(0, state.place - 1)}),
  ArrowRight: () => ({place: Math.min(data.layers.length - 1, state.place + 1)}),
  r: () => ({view: "raw"}), n: () => ({view: "normalised"}),
  d: () => data.cells.length > 1 ? {view: "difference"} : {},
  q: () => ({range: "quantile"}), s: () => ({range: "shared"}), f: () => ({range: "fixed"}),
};
document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const typing = event.target.matches && event.target.matches("input[type=number], select");
  const arrows = event.target.matches && event.target.matches("input[type=radio], .scroll");
  if (typing || (arrows && event.key.startsWith("Arrow"))) return;
  const cell = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : -1;
  if (cell >= 0 && cell < data.cells.length) change({cell});
  else if (Object.hasOwn(KEYS, event.key)) change(KEYS[event.key]());
  else return;
  event.preventDefault();
});
