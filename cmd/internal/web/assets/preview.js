"use strict";
// Enhances previews: highlights code, sorts tables, draws diagrams.
(() => {
  const number = (text) => (/^\s*[-+]?[\d.,]+(e[-+]?\d+)?\s*%?\s*$/i.test(text) ? parseFloat(text.replace(/,/g, "")) : NaN);
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (!isNaN(x) && !isNaN(y)) return x - y;
    return isNaN(x) - isNaN(y) || a.localeCompare(b);
  };
  const sort = (table, column, direction) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, i) => [row.cells[column]?.textContent ?? "", i, row]);
    rows.sort((a, b) => direction * compare(a[0], b[0]) || a[1] - b[1]);
    body.append(...rows.map((r) => r[2]));
  };
  const sortable = (table) => {
    const heads = [...(table.tHead?.rows[0]?.cells ?? [])];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const direction = head.ariaSort === "ascending" ? -1 : 1;
        for (const other of heads) other.ariaSort = "none";
        head.ariaSort = direction > 0 ? "ascending" : "descending";
        sort(table, column, direction);
      });
    });
  };

  // A diagram is drawn in a frame without an origin, which has its own policy and
  // can reach nothing. It gets the source and answers with its height.
  const frames = new Map();
  addEventListener("message", (e) => {
    const frame = frames.get(e.source);
    if (!frame || typeof e.data?.height !== "number") return;
    if (e.data.height > 0) frame.style.height = Math.min(e.data.height, 4000) + "px";
    else frame.replaceWith(...(frame.source ?? []));
  });
  const draw = (figure) => {
    const source = figure.querySelector("code").textContent;
    const frame = document.createElement("iframe");
    frame.sandbox = "allow-scripts";
    frame.title = "Diagram";
    frame.source = [...figure.childNodes];
    frame.addEventListener("load", () => {
      frames.set(frame.contentWindow, frame);
      frame.contentWindow.postMessage({ source, dark: matchMedia("(prefers-color-scheme: dark)").matches }, "*");
    });
    frame.src = "/diagram";
    figure.replaceChildren(frame);
  };

  const enhance = () => {
    for (const code of document.querySelectorAll("pre.code code[class*=language-]:not([data-highlighted])")) {
      if (code.textContent.length < 200000) window.hljs?.highlightElement(code);
    }
    for (const table of document.querySelectorAll("table.sortable:not([data-sortable])")) {
      table.dataset.sortable = "";
      sortable(table);
    }
    const seen = new IntersectionObserver((list) => {
      for (const { target, isIntersecting } of list) if (isIntersecting) { seen.unobserve(target); draw(target); }
    }, { rootMargin: "200px" });
    for (const figure of document.querySelectorAll("figure[data-diagram]:not([data-drawn])")) {
      figure.dataset.drawn = "";
      seen.observe(figure);
    }
  };
  enhance();
  document.addEventListener("page:update", enhance);
})();
