"use strict";
// Draws the diagram that the page sends, and answers with its height, 0 if it can't
// be drawn.
addEventListener("message", async (e) => {
  if (e.source !== parent || typeof e.data?.source !== "string") return;
  let height = 0;
  try {
    document.documentElement.style.colorScheme = e.data.dark ? "dark" : "light";
    document.body.style.cssText = "margin:12px;text-align:center;background:transparent";
    mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: e.data.dark ? "dark" : "neutral", maxTextSize: 100000 });
    const { svg } = await mermaid.render("diagram", e.data.source);
    document.body.innerHTML = svg;
    const drawn = document.body.firstElementChild; // in a narrow window it is scrolled, not made unreadable
    drawn.style.minWidth = Math.min(parseFloat(drawn.style.maxWidth) || 0, 760) + "px";
    height = Math.ceil(document.body.getBoundingClientRect().height) + 24;
  } catch { /* the page shows the source */ }
  parent.postMessage({ height }, "*");
});
