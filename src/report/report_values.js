// The values behind the maps: decoding, views, colour ranges.
const data = JSON.parse(document.getElementById("map-data").textContent);

const MISSING = 4095, TAIL = 1023, CORE = 2048; // as in map_codes.h
const DIGITS = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].forEach((digit, k) => {
  DIGITS[digit.charCodeAt(0)] = k;
});

// What is behind a code.
function decode(map, code) {
  if (code === MISSING) return NaN;
  if (code < TAIL) return map.low + (map.rangeLow - map.low) * code / TAIL;
  if (code <= TAIL + CORE) {
    return map.rangeLow + (map.rangeHigh - map.rangeLow) * (code - TAIL) / CORE;
  }
  return map.rangeHigh + (map.high - map.rangeHigh) * (code - TAIL - CORE) / TAIL;
}

// How far apart neighbouring codes are at a value.
function stepAt(map, value) {
  if (value < map.rangeLow) return (map.rangeLow - map.low) / TAIL;
  if (value > map.rangeHigh) return (map.high - map.rangeHigh) / TAIL;
  return (map.rangeHigh - map.rangeLow) / CORE;
}

const kept = new Map(); // of what was computed, by its description
function once(key, make) {
  if (!kept.has(key)) {
    if (kept.size > 400) kept.clear();
    kept.set(key, make());
  }
  return kept.get(key);
}

const mapOf = (cell, place) => data.cells[cell].maps[place];

// [side, side] mean scores, query by query; NaN where hidden.
function rawValues(cell, place) {
  return once(`raw ${cell} ${place}`, () => {
    const {side} = data, map = mapOf(cell, place), text = map.codes;
    const values = new Float64Array(side * side).fill(NaN);
    let at = 0;
    for (let row = 0; row < side; ++row) {
      const last = map.triangle ? row + 1 : side;
      for (let key = 0; key < last; ++key, at += 2) {
        const code = DIGITS[text.charCodeAt(at)] * 64 + DIGITS[text.charCodeAt(at + 1)];
        values[row * side + key] = decode(map, code);
      }
    }
    return values;
  });
}

// Positions in a block of this number; the last may be cut short.
const extentOf = block => Math.min(data.block, data.n - block * data.block);

// Minus the mean of the blocks at the same distance, each weighted by its pairs.
function normalisedValues(cell, place) {
  return once(`normalised ${cell} ${place}`, () => {
    const {side} = data, raw = rawValues(cell, place);
    const sum = new Float64Array(2 * side - 1), pairs = new Float64Array(2 * side - 1);
    const all = visit => {
      for (let row = 0; row < side; ++row) {
        for (let key = 0; key < side; ++key) visit(row * side + key, row, key, row - key + side - 1);
      }
    };
    all((at, row, key, lag) => {
      if (Number.isNaN(raw[at])) return;
      const weight = extentOf(row) * extentOf(key);
      sum[lag] += weight * raw[at];
      pairs[lag] += weight;
    });
    const values = new Float64Array(side * side);
    all((at, row, key, lag) => { values[at] = raw[at] - sum[lag] / pairs[lag]; });
    return values;
  });
}

function differenceValues(cell, place, reference) {
  return once(`difference ${cell} ${place} ${reference}`, () => {
    const other = rawValues(reference, place);
    return rawValues(cell, place).map((value, at) => value - other[at]);
  });
}

// view: raw, normalised or difference.
function valuesOf(state, place) {
  if (state.view === "raw") return rawValues(state.cell, place);
  if (state.view === "normalised") return normalisedValues(state.cell, place);
  return differenceValues(state.cell, place, state.reference);
}

// How far off coding may have set a shown value, twice; step: of the codes of a cell's map.
function lostTo(state, step) {
  return state.view === "difference" ? step(state.cell) + step(state.reference) : step(state.cell);
}

// How many decimals of a value are certain: what coding lost is less than half of the last one.
function decimalsOf(state, place, at) {
  const lost = lostTo(state, cell => stepAt(mapOf(cell, place), rawValues(cell, place)[at]));
  return lost > 0 ? Math.min(9, Math.max(0, Math.floor(-Math.log10(lost)))) : 3;
}

// The 1 % and 99 % quantiles; about 0, and as far from it as `least`, where 0 is the middle of the
// colours.
function quantileRange(values, diverging, least) {
  const finite = values.filter(value => !Number.isNaN(value)).sort();
  if (finite.length === 0) return [0, 1];
  const low = d3.quantile(finite, 0.01), high = d3.quantile(finite, 0.99);
  if (diverging) {
    const far = Math.max(Math.abs(low), Math.abs(high), least) || 1;
    return [-far, far];
  }
  if (low < high) return [low, high];
  const margin = low === 0 ? 1 : Math.abs(low) / 2; // all values alike
  return [low - margin, low + margin];
}

function ownRange(state, place) {
  const key = `range ${state.view} ${state.cell} ${place} ${state.reference}`;
  return once(key, () => {
    // What coding lost would look like a pattern where a map is flat.
    const step = cell => stepAt(mapOf(cell, place), mapOf(cell, place).rangeLow);
    return quantileRange(valuesOf(state, place), state.view !== "raw", 10 * lostTo(state, step));
  });
}

// What holds all layers' own ranges.
function sharedRange(state) {
  const ranges = data.layers.map((_, place) => ownRange(state, place));
  return [d3.min(ranges, range => range[0]), d3.max(ranges, range => range[1])];
}

const minus = text => text.replace("-", "−");
const fixedNumber = (value, decimals) => {
  const text = value.toFixed(decimals);
  return minus(Number(text) === 0 ? text.replace("-", "") : text);
};
