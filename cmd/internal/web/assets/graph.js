"use strict";
// Draws the graph of a page: dagre finds the places, this file draws them as SVG.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const WIDTH = 188, HEIGHT = 44;
  let view = null; // what is visible, kept over updates

  const element = (name, attributes, parent) => {
    const e = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    parent?.append(e);
    return e;
  };
  const pen = document.createElement("canvas").getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  // cut returns as much of a text as fits into a node.
  const cut = (text, font) => {
    pen.font = font + " " + family;
    const room = WIDTH - 14 - 8, width = pen.measureText(text).width;
    if (width <= room) return text;
    let n = Math.min(text.length - 1, Math.ceil(text.length * room / width));
    while (n > 1 && pen.measureText(text.slice(0, n) + "…").width > room) n--;
    return text.slice(0, n) + "…";
  };

  // place returns the graph with a position for each node. Large graphs are placed
  // in columns by their longest path, because dagre takes too long for them.
  const place = ({ nodes, edges }) => {
    if (nodes.length + edges.length <= 600) {
      const g = new dagre.graphlib.Graph({ multigraph: true });
      g.setGraph({ rankdir: "LR", nodesep: 14, ranksep: 56, marginx: 16, marginy: 16 });
      g.setDefaultEdgeLabel(() => ({}));
      nodes.forEach((n, i) => g.setNode(String(i), { width: WIDTH, height: HEIGHT }));
      edges.forEach((e, i) => g.setEdge(String(e.from), String(e.to), {}, String(i)));
      dagre.layout(g);
      return {
        width: g.graph().width, height: g.graph().height,
        nodes: nodes.map((n, i) => g.node(String(i))),
        edges: edges.map((e, i) => {
          const a = g.node(String(e.from)), b = g.node(String(e.to)), points = g.edge(String(e.from), String(e.to), String(i)).points;
          return [{ x: a.x + WIDTH / 2, y: a.y }, ...points.slice(1, -1), { x: b.x - WIDTH / 2, y: b.y }];
        }),
      };
    }
    const inputs = nodes.map(() => []), column = nodes.map(() => -1), rows = [];
    edges.forEach((e) => inputs[e.to].push(e.from));
    const rank = (start) => { // without recursion: a chain can be long
      const stack = [start];
      while (stack.length) {
        const i = stack[stack.length - 1];
        const open = inputs[i].filter((j) => column[j] === -1);
        if (column[i] >= 0 || !open.length) { if (column[i] < 0) column[i] = Math.max(-1, ...inputs[i].map((j) => column[j])) + 1; stack.pop(); continue; }
        if (stack.length > nodes.length) { column[i] = 0; stack.pop(); continue; } // a cycle
        stack.push(...open);
      }
    };
    nodes.forEach((n, i) => rank(i));
    const at = nodes.map((n, i) => {
      const c = column[i];
      rows[c] = (rows[c] ?? 0) + 1;
      return { x: 16 + WIDTH / 2 + c * (WIDTH + 56), y: 16 + HEIGHT / 2 + (rows[c] - 1) * (HEIGHT + 14) };
    });
    return {
      width: 32 + rows.length * (WIDTH + 56), height: 32 + Math.max(...rows.map((n) => n ?? 0)) * (HEIGHT + 14), nodes: at,
      edges: edges.map((e) => [{ x: at[e.from].x + WIDTH / 2, y: at[e.from].y }, { x: at[e.to].x - WIDTH / 2, y: at[e.to].y }]),
    };
  };

  const curve = (points) => {
    let d = `M${points[0].x},${points[0].y}`;
    for (let i = 1; i < points.length; i++) {
      const a = points[i - 1], b = points[i], middle = (a.x + b.x) / 2;
      d += `C${middle},${a.y} ${middle},${b.y} ${b.x},${b.y}`;
    }
    return d;
  };

  const draw = () => {
    const figure = document.getElementById("graph"), data = document.getElementById("graph-data");
    if (!figure || !data) return;
    const graph = JSON.parse(data.textContent), placed = place(graph);
    figure.hidden = false;
    document.getElementById("graph-list").open = false;
    const svg = figure.querySelector("svg");
    svg.replaceChildren();
    const marker = element("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, element("defs", {}, svg));
    element("path", { d: "M0,0L8,4L0,8z", class: "g-arrow" }, marker);
    graph.edges.forEach((e, i) => element("path", { d: curve(placed.edges[i]), class: "g-edge g-" + e.kind, "marker-end": "url(#arrow)" }, svg));
    graph.nodes.forEach((n, i) => {
      const link = element("a", { href: n.url, class: `g-node g-${n.status || "mixed"}${n.focus ? " g-focus" : ""}${n.folded ? " g-folded" : ""}` }, svg);
      const { x, y } = placed.nodes[i], left = x - WIDTH / 2, top = y - HEIGHT / 2;
      element("title", {}, link).textContent = `${n.label}\n${n.detail}\n${n.status}`;
      if (n.folded) element("rect", { x: left + 4, y: top + 4, width: WIDTH, height: HEIGHT, rx: 6, class: "g-shadow" }, link);
      element("rect", { x: left, y: top, width: WIDTH, height: HEIGHT, rx: 6 }, link);
      element("rect", { x: left, y: top, width: 4, height: HEIGHT, rx: 2, class: "g-bar" }, link);
      const colon = n.label.indexOf(": ");
      const name = colon > 0 ? n.label.slice(colon + 2) : n.label;
      element("text", { x: left + 14, y: top + 18, class: "g-name" }, link).textContent = cut(name, "600 12.5px");
      element("text", { x: left + 14, y: top + 34, class: "g-detail" }, link).textContent = cut([colon > 0 ? n.label.slice(0, colon) : "", n.detail].filter(Boolean).join("  "), "11px");
    });
    arm(figure, svg, placed);
  };

  // arm lets the graph be moved and zoomed.
  const arm = (figure, svg, { width, height }) => {
    const box = () => svg.getBoundingClientRect();
    const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
    const fit = () => {
      const { width: w, height: h } = box(), scale = Math.min(1, w / width, h / height);
      view = { w: w / scale, h: h / scale };
      view.x = Math.min(0, (width - view.w) / 2);
      view.y = (height - view.h) / 2;
      show();
    };
    const zoom = (factor, cx = 0.5, cy = 0.5) => {
      const scale = box().width / view.w * factor;
      if (scale > 4 || scale < 0.02) return;
      view.x += view.w * cx * (1 - 1 / factor);
      view.y += view.h * cy * (1 - 1 / factor);
      view.w /= factor;
      view.h /= factor;
      show();
    };
    const tall = Math.max(220, Math.min(height + 8, innerHeight * 0.68));
    svg.setAttribute("height", tall);
    if (view) show(); else {
      fit();
      if (box().width / view.w < 0.6) { // too small to read: start at the focus
        view = { x: 0, y: 0, w: box().width / 0.85, h: tall / 0.85 };
        const focus = svg.querySelector(".g-focus rect");
        if (focus) { view.x = focus.x.baseVal.value - view.w / 3; view.y = focus.y.baseVal.value - view.h / 2; }
        show();
      }
    }
    svg.onwheel = (e) => {
      if (!e.ctrlKey && !e.metaKey && !e.altKey) return; // the page scrolls
      e.preventDefault();
      const b = box();
      zoom(e.deltaY < 0 ? 1.15 : 1 / 1.15, (e.clientX - b.left) / b.width, (e.clientY - b.top) / b.height);
    };
    let from = null;
    svg.onpointerdown = (e) => { if (e.button === 0) from = { x: e.clientX, y: e.clientY, vx: view.x, vy: view.y, moved: false }; };
    svg.onpointermove = (e) => {
      if (!from) return;
      const dx = e.clientX - from.x, dy = e.clientY - from.y;
      if (!from.moved && Math.hypot(dx, dy) < 4) return;
      if (!from.moved) { from.moved = true; svg.setPointerCapture(e.pointerId); svg.classList.add("g-moving"); }
      view.x = from.vx - dx * view.w / box().width;
      view.y = from.vy - dy * view.h / box().height;
      show();
    };
    svg.onpointerup = svg.onpointercancel = () => { svg.classList.remove("g-moving"); if (!from?.moved) from = null; };
    svg.onclick = (e) => { if (from?.moved) e.preventDefault(); from = null; };
    svg.ondragstart = (e) => e.preventDefault();
    for (const button of figure.querySelectorAll("[data-zoom]")) {
      button.onclick = () => (button.dataset.zoom === "0" ? fit() : zoom(parseFloat(button.dataset.zoom)));
    }
  };
  draw();
  document.addEventListener("page:update", draw);
})();
