"use strict";
// Improves pages that are complete without it: a selection opens the form, drafts stay in the
// browser, keys.
(() => {
  const main = () => document.getElementById("main");
  const inField = (e) => e.target.closest("input, select, textarea, dialog[open]");

  // Drafts. They are kept until the server has recorded them.
  const keyOf = (field) => "draft " + location.pathname + " " + field.dataset.draft;
  const store = (key, text) => { try { text ? localStorage.setItem(key, text) : localStorage.removeItem(key); } catch { /* no storage */ } };
  const restore = () => {
    for (const field of main().querySelectorAll("[data-draft]")) {
      try { if (!field.value) field.value = localStorage.getItem(keyOf(field)) ?? ""; } catch { return; }
      if (field.value) field.closest("details")?.setAttribute("open", "");
    }
  };
  const sent = sessionStorage.getItem("sent");
  if (sent && !document.querySelector("[data-refused]")) store(sent, "");
  sessionStorage.removeItem("sent");
  document.addEventListener("input", (e) => { if (e.target.dataset?.draft) store(keyOf(e.target), e.target.value); });
  document.addEventListener("submit", (e) => {
    const field = e.target.querySelector("[data-draft]");
    if (field) sessionStorage.setItem("sent", keyOf(field));
  });
  restore();
  document.addEventListener("page:update", restore);

  // The text beside the item takes longer than its page.
  for (const place of document.querySelectorAll("[data-load]")) {
    fetch(place.dataset.load).then((r) => r.text()).then((text) => {
      const found = new DOMParser().parseFromString(text, "text/html").getElementById("context");
      if (found?.children.length) place.replaceChildren(...found.children);
    }).catch(() => { /* the link is there */ });
  }

  const numberOf = (row) => parseInt(row.id.slice(1), 10);

  // chosen returns the lines and the text that are selected, null for none.
  const chosen = () => {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return null;
    const row = (node) => (node.nodeType === 1 ? node : node.parentElement)?.closest("[id^=L][data-row]");
    const range = selection.getRangeAt(0);
    let from = row(range.startContainer), to = row(range.endContainer);
    const text = selection.toString();
    const rendered = document.getElementById("rendered");
    if (rendered?.contains(range.commonAncestorContainer)) return { quote: text.trim() };
    if (!from || !to) return null;
    if (numberOf(from) > numberOf(to)) [from, to] = [to, from]; // side by side, a removed line can follow an added one
    const line = from.querySelector("code").textContent;
    const once = from === to && text && line.includes(text) && line.indexOf(text) === line.lastIndexOf(text);
    return { from: from.id, to: to.id, quote: once ? text : "" };
  };

  // begin opens the form for lines or a text, with the first letters of a comment.
  const begin = async (at, letters) => {
    const url = new URL(location.href);
    if (at.from) url.searchParams.set("at", at.from === at.to ? at.from : at.from + "-" + at.to);
    url.hash = "";
    let form = document.getElementById("form");
    if (at.from) {
      const text = await (await fetch(url)).text();
      const next = new DOMParser().parseFromString(text, "text/html").getElementById("form");
      if (!next) return;
      form?.remove();
      form = document.importNode(next, true);
      const line = document.getElementById(at.to), first = numberOf(document.getElementById(at.from));
      for (const l of document.querySelectorAll("#lines [data-row]")) {
        l.classList.toggle("at", first <= numberOf(l) && numberOf(l) <= numberOf(line));
      }
      const item = line.closest("li");
      const after = item.nextElementSibling?.matches(".said") ? item.nextElementSibling : item;
      after.after(form);
      history.replaceState(null, "", url);
    }
    if (!form) return;
    const field = form.querySelector("[name=text]");
    form.querySelector("[name=quote]").value = at.quote ?? "";
    if (!at.from) form.querySelector("[name=lines]").value = "";
    if (at.quote) form.querySelector("[data-where]").textContent = "“" + at.quote.slice(0, 80) + "”";
    restore();
    if (letters) { field.value += letters; store(keyOf(field), field.value); }
    field.focus();
    field.scrollIntoView({ block: "nearest" });
  };

  // The key that opens the form is no text in it, however late the browser delivers that.
  let opener = "";
  document.addEventListener("keyup", () => { opener = ""; }, true);
  document.addEventListener("beforeinput", (e) => { if (opener && e.data === opener) e.preventDefault(); }, true);

  // Before app.js: a letter begins a comment on the selected text.
  document.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && e.target.matches("textarea")) {
      e.preventDefault();
      e.target.form.requestSubmit(e.target.form.querySelector("button[name=action]"));
      return;
    }
    if (e.ctrlKey || e.metaKey || e.altKey || inField(e)) return;
    const at = chosen();
    const stop = () => { e.preventDefault(); e.stopImmediatePropagation(); opener = e.key; };
    if (at && e.key.length === 1 && e.key !== " ") { stop(); begin(at, e.key === "c" ? "" : e.key); return; }
    const row = main().querySelector(".src.selected");
    switch (e.key) {
      case "c": if (row) { stop(); begin({ from: row.id, to: row.id }, ""); } else if (document.getElementById("form")) { stop(); begin({}, ""); } break;
      case "a": stop(); document.getElementById("approve")?.focus(); break;
      case "r": stop(); document.querySelector("#decision [name=text]")?.focus(); break;
      case "]": stop(); document.querySelector("a[rel=next]")?.click(); break;
    }
  }, true);
  document.addEventListener("click", (e) => {
    const plus = e.target.closest(".plus");
    if (!plus || e.ctrlKey || e.metaKey) return;
    e.preventDefault();
    const row = plus.closest("[data-row]");
    begin({ from: row.id, to: row.id }, "");
  });
})();
