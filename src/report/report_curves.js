// Curves of the chosen layer by distance and by key position, all cells in one chart.
const toggles = [...document.querySelectorAll(".toggles input")];

function drawCurve(figure, kind, label) {
  const width = Math.max(300, figure.clientWidth), height = 290, margin = {left: 52, right: 12, top: 12, bottom: 42};
  const shown = toggles.filter(toggle => toggle.checked).map(toggle => Number(toggle.value));
  const series = shown.map(cell => {
    const curve = mapOf(cell, state.place)[kind];
    return {cell, points: curve.value.map((value, k) => ({
      // Blocks of a pooled map back to positions; 1 is added for the logarithm.
      at: 1 + (curve.first[k] + curve.last[k]) / 2 * data.pool, first: curve.first[k] * data.pool,
      last: (curve.last[k] + 1) * data.pool - 1, value, reach: curve.reach ? curve.reach[k] : 0,
    }))};
  });
  const points = series.flatMap(one => one.points);
  const canvas = d3.select(figure).select("svg").attr("viewBox", `0 0 ${width} ${height}`);
  canvas.selectAll("*").remove();
  if (points.length === 0) return;
  const x = d3.scaleLog().domain([1, Math.max(2, data.n)])
    .range([margin.left, width - margin.right]);
  const y = d3.scaleLinear().nice()
    .domain([d3.min(points, p => p.value - p.reach), d3.max(points, p => p.value + p.reach)])
    .nice().range([height - margin.bottom, margin.top]);
  const marks = [0, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 30000].filter(v => v < data.n);
  canvas.append("g").attr("class", "grid").selectAll("line").data(y.ticks(5)).enter()
    .append("line").attr("x1", margin.left).attr("x2", width - margin.right).attr("y1", y)
    .attr("y2", y);
  canvas.append("g").attr("class", "labels axis")
    .attr("transform", `translate(0,${height - margin.bottom})`)
    .call(d3.axisBottom(x).tickValues(marks.map(v => v + 1)).tickFormat(v => `${v - 1}`)
      .tickSize(4));
  canvas.append("g").attr("class", "labels axis plain")
    .attr("transform", `translate(${margin.left},0)`).call(d3.axisLeft(y).ticks(5).tickSize(0));
  canvas.append("text").attr("x", (margin.left + width - margin.right) / 2).attr("y", height - 6)
    .attr("text-anchor", "middle").text(label);
  const line = d3.line().x(p => x(p.at)).y(p => y(p.value));
  const band = d3.area().x(p => x(p.at)).y0(p => y(p.value - p.reach))
    .y1(p => y(p.value + p.reach));
  canvas.append("path").attr("class", "cross");
  for (const {cell, points: own} of series) {
    const group = canvas.append("g").attr("class", `series s${cell % 8}`);
    group.append("path").attr("class", "band").attr("d", band(own));
    group.append("path").attr("class", "line").attr("d", line(own));
    group.selectAll("circle").data(own).enter().append("circle").attr("r", 2.2)
      .attr("cx", p => x(p.at)).attr("cy", p => y(p.value))
      .append("title").text(p => `${data.cells[cell].title}, ${binOf(p)}: ${inNumbers(p)}`);
  }
  canvas.node().onpointermove = event => {
    const box = canvas.node().getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width * width;
    const bin = d3.least(points, p => Math.abs(x(p.at) - at));
    canvas.select(".cross").attr("d", `M${x(bin.at)} ${margin.top}V${height - margin.bottom}`);
    const values = series.map(({cell, points: own}) => {
      const found = own.find(p => p.first === bin.first);
      return found ? `\n${data.cells[cell].title}: ${inNumbers(found)}` : "";
    });
    showTip(`${kind === "byKey" ? "key" : "distance"} ${binOf(bin)}${values.join("")}`, event);
  };
  canvas.node().onpointerleave = () => {
    tip.hidden = true;
    canvas.select(".cross").attr("d", null);
  };
}

const binOf = p => p.first === p.last ? `${p.first}` : `${p.first} to ${p.last}`;
const inNumbers = p => minus(d3.format(".4~g")(p.value)) +
  (p.reach > 0 ? ` ± ${d3.format(".2~g")(p.reach)}` : "");

function drawCurves() {
  document.getElementById("curves-title").textContent = `Layer ${data.layers[state.place] + 1}`;
  drawCurve(document.getElementById("by-distance"), "byDistance", "distance i − j to the key");
  drawCurve(document.getElementById("by-key"), "byKey", "position j of the key");
}

for (const toggle of toggles) toggle.addEventListener("change", drawCurves);
let resized = 0;
addEventListener("resize", () => {
  cancelAnimationFrame(resized);
  resized = requestAnimationFrame(() => {
    drawLarge();
    drawCurves();
  });
});
drawAll();
