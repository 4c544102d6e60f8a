// Does STEPS (browser.h) in the page and sends what they gave to the page around it.
(async () => {
  const n = data.n, canvas = document.querySelector("#large canvas");
  const one = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
    .getContext("2d", {willReadFrequently: true});
  const place = ([query, key]) => {
    const box = canvas.getBoundingClientRect();
    return [box.left + (key + 0.5) / n * box.width, box.top + (query + 0.5) / n * box.height];
  };
  const doing = {
    key: key => { document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true})); },
    click: selector => { document.querySelector(selector).click(); },
    choose: ([selector, value]) => {
      const control = document.querySelector(selector);
      control.value = value;
      control.dispatchEvent(new Event("change", {bubbles: true}));
    },
    point: pair => {
      const [clientX, clientY] = place(pair);
      canvas.dispatchEvent(new PointerEvent("pointermove", {clientX, clientY, bubbles: true}));
      return document.getElementById("tip").textContent;
    },
    hover: selector => {
      const box = document.querySelector(selector).getBoundingClientRect();
      const [clientX, clientY] = [box.left + box.width / 2, box.top + box.height / 2];
      document.querySelector(selector).dispatchEvent(
        new PointerEvent("pointermove", {clientX, clientY, bubbles: true}));
      return document.getElementById("tip").textContent;
    },
    pixel: ([query, key]) => {
      const at = position => Math.floor((position + 0.5) / n * canvas.width);
      // Read from another canvas: the page's own is not made to be read.
      one.clearRect(0, 0, 1, 1);
      one.drawImage(canvas, at(key), at(query), 1, 1, 0, 0, 1, 1);
      const [r, g, b, a] = one.getImageData(0, 0, 1, 1).data;
      return a === 0 ? -1 : r << 16 | g << 8 | b;
    },
    text: selector => [...document.querySelectorAll(selector)].map(one => one.textContent),
    csv: async selector => {
      let file = null;
      const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
      URL.createObjectURL = blob => { file = blob; return "blob:"; };
      HTMLAnchorElement.prototype.click = () => {};
      document.querySelector(selector).click();
      URL.createObjectURL = make;
      HTMLAnchorElement.prototype.click = click;
      return file.text();
    },
    overflow: () => document.documentElement.scrollWidth - innerWidth,
    overlaps: selector => {
      const boxes = [...document.querySelectorAll(selector)].map(one => one.getBoundingClientRect())
        .filter(box => box.width > 0 && box.height > 0);
      let pairs = 0;
      boxes.forEach((a, k) => boxes.slice(k + 1).forEach(b => {
        pairs += a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 &&
          b.top < a.bottom - 1;
      }));
      return pairs;
    },
  };
  const results = [];
  try {
    for (const step of STEPS) {
      const [name, argument] = Object.entries(step)[0];
      const result = await doing[name](argument);
      results.push(result === undefined ? null : result);
    }
  } catch (error) {
    problems.push(String(error.stack));
  }
  parent.postMessage({results, width: innerWidth, problems}, "*");
})();
