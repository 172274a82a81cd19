"use strict";
// Enhances previews: highlights code, sorts tables, draws diagrams, folds the files of a diff.
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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const frame of frames.values()) frame.src = "/diagram"; // is loaded again, and drawn in the other theme
  });

  // Code in lines, such as those of a diff: ranges of its text get colors. The elements stay as
  // they are, with the words that are marked and the comments between lines.
  const colors = { keyword: "keyword selector-tag built_in type name", string: "string regexp", number: "number literal symbol",
    comment: "comment quote meta doctag", name: "title section attr attribute property" };
  const colorOf = Object.fromEntries(Object.entries(colors).flatMap(([color, list]) => list.split(" ").map((c) => ["hljs-" + c, color])));
  const texts = (node) => {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT), list = [];
    while (walker.nextNode()) list.push(walker.currentNode);
    return list;
  };
  // tokens returns the parts of code that have a color: where they begin and end.
  const tokens = (code, language) => {
    const box = document.createElement("template");
    box.innerHTML = hljs.highlight(code, { language, ignoreIllegals: true }).value;
    let at = 0;
    return texts(box.content).map((t) => [colorOf[t.parentElement?.classList[0]], at, at += t.length]).filter(([color]) => color);
  };
  // paint gives lines of code their colors, in a text of which they are the lines with these numbers. Without
  // it, those that follow its first line without a gap have colors: what others begin in, such as a comment, is
  // not known. The first character of a line of a diff is no code.
  const paint = (lines, side, text, language, ranges) => {
    const places = [], all = text ? text.split("\n") : []; // places of the text of the page in the code
    const starts = [];
    let code = text;
    all.reduce((at, line, i) => (starts[i] = at) + line.length + 1, 0);
    for (const line of lines) {
      const n = parseInt(line.dataset[side], 10), shown = line.querySelector("code");
      const own = shown.textContent.slice(line.matches(".add, .del, .ctx") ? 1 : 0);
      if (!text && n === starts.length + 1) { starts.push(code.length); code += own + "\n"; }
      else if (!text || all[n - 1]?.replace(/\r$/, "\\r") !== own) continue;
      if (side === "old" && line.dataset.new) continue; // it gets the colors of the new text
      let left = shown.textContent.length - own.length, at = starts[n - 1];
      for (const node of texts(shown)) {
        const from = Math.min(left, node.length);
        left -= from;
        if (node.length > from) places.push({ node, from, at, end: at += node.length - from });
      }
    }
    if (!places.length || code.length > 200000) return;
    let next = 0;
    for (const [color, from, to] of tokens(code, language)) {
      while (next < places.length && places[next].end <= from) next++;
      for (let i = next; i < places.length && places[i].at < to; i++) {
        const p = places[i], offset = p.from - p.at;
        ranges[color].push(new StaticRange({ startContainer: p.node, startOffset: Math.max(from, p.at) + offset, endContainer: p.node, endOffset: Math.min(to, p.end) + offset }));
      }
    }
  };
  // textOf returns the text at an address, "" if there is none.
  const loaded = new Map();
  const textOf = (url) => {
    if (url && !loaded.has(url)) loaded.set(url, fetch(url).then((r) => (r.ok ? r.text() : "")).catch(() => ""));
    return loaded.get(url) ?? "";
  };
  let turn = 0;
  const color = async () => {
    if (!window.hljs || !window.CSS?.highlights) return;
    const mine = ++turn, ranges = Object.fromEntries(Object.keys(colors).map((name) => [name, []]));
    for (const block of document.querySelectorAll("[data-language]")) {
      const { language, before, after } = block.dataset;
      if (!hljs.getLanguage(language)) continue;
      for (const [side, url] of [["new", after], ["old", before]]) {
        paint(block.querySelectorAll(`.src[data-${side}]`), side, await textOf(url), language, ranges);
      }
    }
    if (mine !== turn) return; // the page was replaced
    for (const [name, list] of Object.entries(ranges)) {
      const all = new Highlight();
      for (const range of list) all.add(range);
      CSS.highlights.set("code-" + name, all);
    }
  };

  // Files of a diff that the reader has viewed are folded. The browser notes the digests of
  // what changes in them.
  const VIEWED = "viewed", most = 5000;
  const viewed = () => { try { return JSON.parse(localStorage.getItem(VIEWED) ?? "[]"); } catch { return null; } };
  const showViewed = () => {
    const seen = viewed();
    for (const list of seen ? document.querySelectorAll(".file-list") : []) {
      const files = [...list.parentElement.querySelectorAll("[data-file]")], isSeen = (f) => seen.includes(f.dataset.file);
      const summary = list.querySelector("summary");
      const count = summary.querySelector(".viewed-count") ?? summary.appendChild(Object.assign(document.createElement("span"), { className: "viewed-count" }));
      count.textContent = files.filter(isSeen).length + " of " + files.length + " viewed";
      for (const file of files) {
        let box = file.querySelector(".viewed > input");
        if (!box) {
          const label = Object.assign(document.createElement("label"), { className: "viewed" });
          box = Object.assign(document.createElement("input"), { type: "checkbox" });
          label.append(box, "viewed");
          file.append(label);
          if (isSeen(file)) file.querySelector("details").open = false;
        }
        box.checked = isSeen(file);
        list.querySelector(`[href="#file-${file.dataset.file}"]`).classList.toggle("seen", box.checked);
      }
    }
  };
  document.addEventListener("change", (e) => {
    const file = e.target.matches(".viewed > input") && e.target.closest("[data-file]");
    if (!file) return;
    const seen = (viewed() ?? []).filter((digest) => digest !== file.dataset.file);
    if (e.target.checked) seen.push(file.dataset.file);
    try { localStorage.setItem(VIEWED, JSON.stringify(seen.slice(-most))); } catch { return; }
    file.querySelector("details").open = !e.target.checked;
    showViewed();
  });

  const enhance = () => {
    color();
    showViewed();
    for (const list of document.querySelectorAll(".file-list")) list.open ||= getComputedStyle(list.parentElement).display === "grid";
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
