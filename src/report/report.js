"use strict";
// Heat maps from the values in #map-data, and sortable tables. No library, nothing fetched.
(() => {
  const data = JSON.parse(document.getElementById("map-data").textContent);
  const MISSING = 255, TAIL = 12, CORE = 230; // as in map_codes.h

  // The value behind a code.
  function decode(map, code) {
    if (code < TAIL) return map.low + (map.rangeLow - map.low) * code / TAIL;
    if (code <= TAIL + CORE) {
      return map.rangeLow + (map.rangeHigh - map.rangeLow) * (code - TAIL) / CORE;
    }
    return map.rangeHigh + (map.high - map.rangeHigh) * (code - TAIL - CORE) / TAIL;
  }

  // Base64 to a square of codes, once.
  function codesOf(map, side) {
    if (map.square) return map.square;
    const text = atob(map.codes);
    map.square = new Uint8Array(side * side).fill(MISSING);
    let at = 0;
    for (let row = 0; row < side; ++row) {
      const last = map.triangle ? row + 1 : side;
      for (let key = 0; key < last; ++key) map.square[row * side + key] = text.charCodeAt(at++);
    }
    return map.square;
  }

  const number = value => Number(value.toPrecision(3)).toString().replace("-", "−");
  const figures = [...document.querySelectorAll("figure[data-map]")].map(element => ({
    element, canvas: element.querySelector("canvas"), entry: data.maps[element.dataset.map],
  }));
  const chosen = name => document.querySelector(`#map-controls input[name=${name}]:checked`).value;

  function rangeOf(entry, view, shared) {
    const maps = shared ? data.maps.filter(other => other.layer === entry.layer) : [entry];
    return [Math.min(...maps.map(other => other[view].rangeLow)),
            Math.max(...maps.map(other => other[view].rangeHigh))];
  }

  function draw({element, canvas, entry}, view, shared) {
    const map = entry[view], side = entry.side, codes = codesOf(map, side);
    const [low, high] = rangeOf(entry, view, shared);
    const colours = new Uint32Array(256); // of each code, as bytes r g b a; 0 is transparent
    for (let code = 0; code < MISSING; ++code) {
      const part = (decode(map, code) - low) / (high - low);
      const rgb = data.palette[Math.round(255 * Math.min(1, Math.max(0, part)))];
      colours[code] = (255 << 24 | (rgb & 255) << 16 | (rgb >> 8 & 255) << 8 | rgb >> 16) >>> 0;
    }
    canvas.width = canvas.height = side;
    const context = canvas.getContext("2d");
    const image = context.createImageData(side, side);
    const pixels = new Uint32Array(image.data.buffer);
    for (let at = 0; at < codes.length; ++at) pixels[at] = colours[codes[at]];
    context.putImageData(image, 0, 0);
    element.querySelector(".low").textContent = number(low);
    element.querySelector(".high").textContent = number(high);
  }

  function drawAll() {
    const view = chosen("view"), shared = chosen("range") === "shared";
    for (const figure of figures) draw(figure, view, shared);
  }

  const tip = document.getElementById("tip");
  const span = (first, block, n) => block === 1 ? `${first}`
    : `${first} to ${Math.min(first + block, n) - 1}`;

  function point({canvas, entry}, event) {
    const box = canvas.getBoundingClientRect(), side = entry.side, block = entry.block;
    const place = (at, extent) => Math.min(side - 1, Math.max(0, Math.floor(at / extent * side)));
    const key = place(event.clientX - box.left, box.width);
    const query = place(event.clientY - box.top, box.height);
    const view = chosen("view"), map = entry[view], code = codesOf(map, side)[query * side + key];
    const [least, most] = entry.samples;
    tip.textContent = `query ${span(query * block, block, entry.n)}, ` +
      `key ${span(key * block, block, entry.n)}\n` + (code === MISSING ? "hidden by the mask"
        : `${view === "raw" ? "score" : "score minus its diagonal's mean:"} ` +
          `${number(decode(map, code))}${block === 1 ? "" : " (mean)"}\n` +
          `${least === most ? most : `${least} to ${most}`} samples`);
    tip.hidden = false;
    const right = event.clientX + 16 + tip.offsetWidth > innerWidth;
    tip.style.left = `${Math.max(4, right ? event.clientX - 12 - tip.offsetWidth
      : event.clientX + 14)}px`;
    tip.style.top = `${Math.max(4, event.clientY - tip.offsetHeight - 10)}px`;
  }

  const ramp = data.palette.filter((_, k) => k % 15 === 0)
    .map(rgb => "#" + rgb.toString(16).padStart(6, "0")).join(", ");
  document.documentElement.style.setProperty("--ramp", `linear-gradient(90deg, ${ramp})`);
  for (const figure of figures) {
    figure.canvas.addEventListener("pointermove", event => point(figure, event));
    figure.canvas.addEventListener("pointerdown", event => point(figure, event));
    figure.canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
  document.getElementById("map-controls").addEventListener("change", drawAll);
  drawAll();

  function sort(button) {
    const heading = button.closest("th"), table = button.closest("table");
    const column = Number(button.dataset.column), body = table.tBodies[0];
    const descending = heading.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("[aria-sort]")) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const value = row => {
      const text = row.cells[column].dataset.value;
      return text === "" ? (descending ? -Infinity : Infinity) : Number(text); // missing ones last
    };
    const sign = descending ? -1 : 1;
    body.append(...[...body.rows].sort((a, b) => sign * (value(a) - value(b)) || 0));
  }
  for (const button of document.querySelectorAll(".sort")) {
    button.addEventListener("click", () => sort(button));
  }
})();
