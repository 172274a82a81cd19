"use strict";
// Everything here improves a page that is complete without it: live update,
// keyboard, copying, relative times.
(() => {
  const main = () => document.getElementById("main");
  const rows = () => [...main().querySelectorAll("[data-row]")];
  const inField = (e) => e.target.closest("input, select, textarea, dialog[open]");

  // Live update. An event means that the log has grown; the page is fetched again
  // and its main element replaced. A hidden tab holds no connection.
  let source, pending, busy, again;
  const folds = () => [...main().querySelectorAll(".messages details")]; // messages are added at the end
  const state = () => ({
    open: [...main().querySelectorAll("details[id]")].map((d) => [d.id, d.open]),
    folds: folds().map((d) => d.open),
    scroll: [...main().querySelectorAll("[id]")].filter((e) => e.scrollTop || e.scrollLeft).map((e) => [e.id, e.scrollTop, e.scrollLeft]),
    row: rows().findIndex((r) => r.classList.contains("selected")),
    link: main().querySelector(".selected a")?.getAttribute("href"),
    focus: main().contains(document.activeElement) && document.activeElement.id,
  });
  const restore = (s) => {
    folds().forEach((d, i) => { d.open = s.folds[i] ?? d.open; });
    for (const [id, open] of s.open) { const d = document.getElementById(id); if (d) d.open = open; }
    for (const [id, top, left] of s.scroll) document.getElementById(id)?.scrollTo(left, top);
    if (s.row >= 0) mark(rows().find((r) => r.querySelector("a")?.getAttribute("href") === s.link) || rows()[s.row]);
    if (s.focus) document.getElementById(s.focus)?.focus({ preventScroll: true });
  };
  let shown = "", took = 0;
  const update = async () => {
    if (busy) { again = true; return; }
    busy = true;
    const start = performance.now();
    try {
      const r = await fetch(location.href, { headers: { Accept: "text/html" } });
      const text = await r.text();
      const body = text.slice(text.indexOf("<main"));
      const same = body === shown;
      shown = body;
      const next = same ? null : new DOMParser().parseFromString(text, "text/html").getElementById("main");
      const typing = document.activeElement && main().contains(document.activeElement) && document.activeElement.matches("input, select, textarea");
      if (next && (typing || window.getSelection().toString())) shown = ""; // later
      else if (next) {
        const before = state();
        for (const kept of main().querySelectorAll("[data-keep][id]")) next.querySelector("#" + CSS.escape(kept.id))?.replaceWith(kept);
        main().replaceWith(next);
        restore(before);
        document.dispatchEvent(new Event("page:update"));
      }
    } catch { /* the server is gone: the stream says so */ }
    busy = false;
    took = performance.now() - start;
    if (again) { again = false; later(); }
  };
  const later = () => { pending ??= setTimeout(() => { pending = undefined; update(); }, 150); };
  const connect = () => {
    if (!document.body.hasAttribute("data-live") || document.hidden) { source?.close(); source = undefined; return; }
    if (source) return;
    source = new EventSource("/events?after=" + document.body.dataset.live);
    const badge = document.getElementById("live");
    let lost = false;
    source.addEventListener("open", () => { badge.hidden = true; if (lost) update(); lost = false; });
    source.addEventListener("error", () => { badge.hidden = false; lost = true; });
    source.addEventListener("change", later);
  };
  document.addEventListener("visibilitychange", () => { connect(); if (!document.hidden) later(); });
  addEventListener("pagehide", () => source?.close());
  connect();
  // Conversations change without the log. A page that takes long is asked for less often.
  const poll = () => { if (!document.hidden) later(); setTimeout(poll, Math.max(pause, 10 * took)); };
  const pause = parseInt(document.body.dataset.poll, 10);
  if (pause) setTimeout(poll, pause);

  // What happened after its reader last looked is marked. The browser notes when that was.
  const key = "seen " + document.title.split(" · ").pop();
  const showNew = () => {
    const button = main().querySelector("[data-seen]");
    if (!button) return;
    let seen = null;
    try { seen = localStorage.getItem(key); } catch { return; } // no storage: as the server marked it
    button.hidden = false;
    if (seen) for (const row of main().querySelectorAll("[data-at]")) row.classList.toggle("is-new", row.dataset.at > seen);
  };
  document.addEventListener("click", (e) => {
    if (!e.target.closest("[data-seen]")) return;
    localStorage.setItem(key, new Date().toISOString());
    showNew();
  });
  showNew();
  document.addEventListener("page:update", showNew);

  addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => { document.body.dataset.loaded = ""; })));

  // Keyboard.
  const mark = (row) => {
    main().querySelector(".selected")?.classList.remove("selected");
    row?.classList.add("selected");
    row?.scrollIntoView({ block: "nearest" });
  };
  const move = (by) => {
    const list = rows();
    const at = list.findIndex((r) => r.classList.contains("selected"));
    if (list.length) mark(list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(list.length - 1, Math.max(0, at + by))]);
  };
  const prompt = (by) => {
    const list = rows(), at = list.findIndex((r) => r.classList.contains("selected"));
    const next = by > 0 ? list.slice(at + 1) : at < 0 ? [] : list.slice(0, at).reverse();
    const row = next.find((r) => r.matches(".m-user"));
    if (row) mark(row);
  };
  // The list from which a page was opened, for the next and the previous one. That of a thread is
  // beside it, where the current one is in view.
  const beside = () => [...main().querySelectorAll(".beside li a")];
  let centered = false;
  const center = () => {
    const list = document.getElementById("beside"), row = list?.querySelector("[aria-current]")?.parentElement;
    if (!row || centered) return;
    list.scrollTop = row.offsetTop - list.clientHeight / 2;
    centered = true;
  };
  center();
  document.addEventListener("page:update", center);
  const LIST = "list";
  const links = () => rows().map((r) => r.querySelector("a")?.pathname).filter(Boolean);
  document.addEventListener("click", (e) => {
    if (e.target.closest("[data-row] a") && !document.querySelector(".messages")) sessionStorage.setItem(LIST, JSON.stringify(links()));
  });
  const neighbor = (by) => {
    const near = beside(), at = near.findIndex((a) => a.ariaCurrent);
    if (at >= 0) { if (near[at + by]) location.assign(near[at + by].href); return; }
    const list = JSON.parse(sessionStorage.getItem(LIST) || "[]");
    const to = list[list.indexOf(location.pathname) + by], view = new URLSearchParams(location.search).get("view");
    if (to && list.includes(location.pathname)) location.assign(to + (view ? "?view=" + encodeURIComponent(view) : ""));
  };
  // fold opens the calls of a message, or of all; if all are open it closes them.
  const fold = (of) => {
    const list = [...of.querySelectorAll("details.fold")], open = list.some((d) => !d.open);
    for (const d of list) d.open = open;
  };
  const up = () => {
    const crumbs = document.querySelectorAll(".crumbs a");
    const to = crumbs.length ? crumbs[crumbs.length - 1].getAttribute("href") : "/";
    if (location.pathname !== "/") location.assign(to);
  };
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && inField(e)) { e.target.blur(); return; }
    if (e.ctrlKey || e.metaKey || e.altKey || inField(e)) return;
    const chosen = main().querySelector(".selected");
    switch (e.key) {
      case "j": case "ArrowDown": if (e.key === "j") { move(1); break; } return;
      case "k": move(-1); break;
      case "J": case "K": prompt(e.key === "J" ? 1 : -1); break;
      case "[": case "]": neighbor(e.key === "]" ? 1 : -1); break;
      case "/": document.getElementById("q")?.focus(); break;
      case "?": document.getElementById("help").showModal(); break;
      case "Backspace": up(); break;
      case "y": (chosen || main()).querySelector("[data-copy]")?.click(); break;
      case "Y": chosen?.querySelector("[data-copy-from]")?.click(); break;
      case "o": fold(chosen || main()); break;
      case "Enter": if (!chosen || e.target.closest("a, button, summary")) return; chosen.querySelector("a")?.click(); break;
      default: {
        const copy = main().querySelector(`[data-key="${CSS.escape(e.key)}"] [data-copy]`);
        if (!copy) return;
        copy.scrollIntoView({ block: "nearest" });
        copy.click();
      }
    }
    e.preventDefault();
  });

  // Titles while typing into the search. One that is chosen is opened.
  const field = document.getElementById("q"), titles = document.getElementById("titles");
  let typed, asked;
  const suggest = async () => {
    const text = asked = field.value;
    const r = await fetch("/search?kind=titles&q=" + encodeURIComponent(text));
    const found = new DOMParser().parseFromString(await r.text(), "text/html").querySelectorAll("#main .row a.what");
    if (asked !== text) return;
    titles.replaceChildren(...[...found].map((a) => {
      const o = new Option(a.nextElementSibling.textContent, a.textContent);
      o.dataset.url = a.getAttribute("href");
      return o;
    }));
  };
  field?.addEventListener("input", () => {
    const chosen = [...titles.options].find((o) => o.value === field.value);
    clearTimeout(typed);
    if (chosen) location.assign(chosen.dataset.url);
    else if (field.value.length > 2) typed = setTimeout(suggest, 250);
  });

  // Copying.
  document.addEventListener("click", async (e) => {
    const button = e.target.closest("[data-copy], [data-copy-from]");
    if (!button) return;
    let text = button.dataset.copy;
    if (button.href) {
      e.preventDefault();
      text = await (await fetch(button.href)).text();
    }
    try { await navigator.clipboard.writeText(text); } catch {
      const field = document.createElement("textarea"); // where the clipboard needs a secure page
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), 1200);
  });

  // Relative times, with the rule of functions.go.
  const since = (ms) => {
    for (const [size, name] of [[864e5, "d"], [36e5, "h"], [6e4, "min"]]) {
      const n = Math.floor(ms / size);
      if (n >= 1) return n + " " + name + " ago";
    }
    return "just now";
  };
  setInterval(() => {
    for (const t of document.querySelectorAll("time[data-ago]")) {
      const text = since(Date.now() - Date.parse(t.dateTime));
      if (t.textContent !== text) t.textContent = text;
    }
  }, 10000);
})();
