package browser

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// longText is a title as agents write them, and longWord a name without a place to break it.
const (
	longText = "Retry payments that fail while a new version is deployed, but neither after a timeout nor without a key"
	longWord = "payment-service-client-retries-and-backoff-after-deployments-2026-11"
)

// fillLong runs the commands of many agents with long names.
func fillLong(w *workspace) map[string]string {
	w.t.Helper()
	agent := func(n int) string {
		return fmt.Sprint([]string{longWord, "architect", "reviewer-of-" + longWord}[n%3], n%5)
	}
	var ids []string
	for i := range 60 {
		args := []string{"publish", "-", "--agent", agent(i), "--channel", []string{"design", longWord}[i%2], "--title",
			fmt.Sprint(longText, ", part ", i), "--summary", longText, "--tag", longWord[:40], "--filename", longWord + ".md"}
		if i%4 == 3 {
			args = append(args, "--replaces", ids[i-2], "--from", ids[i-1])
		}
		if i%7 == 6 {
			args = append(args, "--ask-review")
		}
		ids = append(ids, w.id(strings.ReplaceAll(design, "Rules", fmt.Sprint("Rules ", i))+"\n"+strings.Repeat(longWord, 4)+
			"\n\n`"+longWord+longWord+"`\n", args...))
	}
	w.run("", "label", ids[0], longWord[:50])
	w.run("", "review", ids[3], "--lines", "2-3", "-m", longText+" "+longWord, "--agent", longWord)
	w.run("", "review", ids[3], "--request-changes", "-m", longText, "--agent", "lead")
	var sessions []string
	for i := range 30 {
		args := []string{"session", "open", "--agent", agent(i), "--title", longText, "--workflow", longWord, "--user",
			longWord, "--expect", longWord + ".md"}
		for _, id := range sessions[max(0, i-3):] {
			args = append(args, "--link", id)
		}
		id := w.id("", args...)
		sessions = append(sessions, id)
		folder := filepath.Join(w.dir, "docs", "agent-outputs", id, longWord)
		must(w.t, os.MkdirAll(folder, 0o755))
		must(w.t, os.WriteFile(filepath.Join(folder, longWord+".md"), []byte(design), 0o644))
		w.run("", "session", "add", longWord+"/"+longWord+".md", "--type", "document", "--description", longText,
			"--session", id)
		if i < 26 {
			w.run("", "session", "close", "--session", id, "--status", []string{"completed", "failed"}[i%2], "--reason", longText)
		}
	}
	for i := range 12 {
		run := fmt.Sprint(longWord, "-", i)
		for _, stage := range []string{"plan", "implement", "test"}[:1+i%3] {
			w.run(w.run("", "pipeline", "schema", stage, "--example"), "pipeline", "put", run, stage, "-")
		}
	}
	converse(w)
	x := &transcript{w: w, common: object{"sessionId": "2823d1df-720a-4c31-ac55-ae8ba7260009", "gitBranch": longWord},
		at: time.Now().Add(-time.Hour)}
	for i := range 12 {
		x.user(time.Minute, longText+" "+longWord, nil)
		x.answer(time.Minute, object{"type": "text", "text": longText + "\n\n" + longWord + longWord},
			object{"type": "tool_use", "id": fmt.Sprint("t", i), "name": "mcp__" + longWord + "__list",
				"input": object{"command": "go test ./" + longWord + "/" + longWord + " " + longText}})
		x.user(time.Second, []object{{"type": "tool_result", "tool_use_id": fmt.Sprint("t", i), "content": longText}}, nil)
	}
	x.store("2823d1df-720a-4c31-ac55-ae8ba7260009.jsonl")
	return map[string]string{"home": "/", "board-session": "/?board=session", "cost": "/cost", "cost-agent": "/cost?by=agent",
		"sessions": "/sessions", "sessions-sorted": "/sessions?sort=duration&agent=" + agent(0), "session": "/sessions/" +
			sessions[28], "file": "/sessions/" + sessions[3] + "/files/" + longWord + "/" + longWord + ".md", "artifact": "/artifacts/" +
			ids[3], "lines": "/artifacts/" + ids[3] + "?lines", "diff": "/artifacts/" + ids[3] + "?diff=" + ids[1],
		"rendered": "/artifacts/" + ids[3] + "?rendered&diff=" + ids[1], "artifacts": "/artifacts?agent=" + agent(0) + "&text=retry",
		"artifacts-sorted": "/artifacts?sort=title", "channels": "/channels", "channel": "/channels/" + longWord,
		"compare": "/compare?ref=" + ids[0] + "&ref=" + ids[3] + "&ref=" + ids[7], "compare-sessions": "/compare?ref=" +
			sessions[1] + "&ref=" + sessions[2], "graph": "/graph?focus=" + ids[3], "graph-sessions": "/graph?sessions&focus=" +
			sessions[5], "pipelines": "/pipelines", "pipeline": "/pipelines/" + longWord + "-2", "threads": "/threads",
		"threads-sorted": "/threads?sort=cost&program=claude", "thread": "/threads/claude/2823d1df-720a-4c31-ac55-ae8ba7260009",
		"answers": "/threads/claude/2823d1df-720a-4c31-ac55-ae8ba7260009?show=answers", "search": "/search?q=retry", "check": "/check",
		"changed": "/files?since=7d",
		"nothing": "/artifacts?agent=nobody", "no-results": "/search?q=zzzz"}
}

// TestLongNames opens the pages of a workspace with long names and many rows, and those of an
// empty one: nothing is wider than the window, no text is on another one, the names of rows stay
// where a table is scrolled, and axe finds nothing.
func TestLongNames(t *testing.T) {
	for _, name := range []string{"long", "none"} {
		w := newWorkspace(t, "")
		pages := map[string]string{"home": "/", "cost": "/cost", "sessions": "/sessions", "artifacts": "/artifacts",
			"channels": "/channels", "compare": "/compare", "graph": "/graph", "pipelines": "/pipelines", "threads": "/threads",
			"check": "/check", "search": "/search?q=a"}
		if name == "long" {
			pages = fillLong(w)
		}
		base, link := w.serve()
		b := newTab(t, browser(t), base)
		b.open(strings.TrimPrefix(link, base))
		b.open("/cost")
		b.open("/")
		for _, page := range slices.Sorted(maps.Keys(pages)) {
			for _, width := range []int{390, 1280} {
				b.look(width, false)
				b.open(pages[page])
				b.await("all is read", `!/not complete yet|being read/.test(document.getElementById("main").innerText)`, time.Minute)
				where := fmt.Sprint(name, " ", pages[page], " ", width)
				if width == 1280 {
					b.axe(where)
				}
				if wide := eval[float64](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%s: the page is %v px wider than the window", where, wide)
				}
				for _, text := range eval[[]string](b, overlaps) {
					t.Errorf("%s: %s", where, text)
				}
				for _, table := range eval[[]string](b, moved) {
					t.Errorf("%s: the names of rows move out of the table %q when it is scrolled", where, table)
				}
				b.draw()
				b.shoot(fmt.Sprint(name, "-", page, "-", width, "-light"))
				if os.Getenv("E2E_SHOTS") != "" {
					b.look(width, true)
					b.open(pages[page])
					b.draw()
					b.shoot(fmt.Sprint(name, "-", page, "-", width, "-dark"))
				}
				b.clean(where)
			}
		}
	}
}

// moved finds tables on a narrow window whose names of rows don't stay when they are scrolled.
const moved = `[...document.querySelectorAll(".scroll, .lanes")].filter((box) => {
	box.scrollLeft = 99;
	const name = box.querySelector("th[scope=row]");
	const is = innerWidth < 640 && name && name.getBoundingClientRect().left < box.getBoundingClientRect().left;
	box.scrollLeft = 0;
	return is;
}).map((box) => box.id || box.className)`

// overlaps finds texts that are drawn on each other: pairs of elements, none of which contains
// the other, with text of their own.
const overlaps = `(() => {
	const shown = [...document.querySelectorAll("main *")].filter((e) => !e.closest("svg, .sr-only, select") &&
		[...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && e.checkVisibility());
	const boxes = [];
	for (const e of shown) {
		for (const n of e.childNodes) {
			if (n.nodeType !== 3 || !n.data.trim()) continue;
			const r = document.createRange();
			r.selectNodeContents(n);
			let clip = { left: 0, right: 1e9, top: 0, bottom: 1e9 };
			for (let p = e; p; p = p.parentElement) {
				if (getComputedStyle(p).overflow !== "visible") {
					const c = p.getBoundingClientRect();
					clip = { left: Math.max(clip.left, c.left), right: Math.min(clip.right, c.right),
						top: Math.max(clip.top, c.top), bottom: Math.min(clip.bottom, c.bottom) };
				}
			}
			for (const b of r.getClientRects()) {
				const box = { e, text: n.data.trim().slice(0, 40), left: Math.max(b.left, clip.left), right: Math.min(b.right, clip.right),
					top: Math.max(b.top, clip.top), bottom: Math.min(b.bottom, clip.bottom) };
				if (box.right - box.left > 2 && box.bottom - box.top > 2) boxes.push(box);
			}
		}
	}
	const found = [];
	for (let i = 0; i < boxes.length && boxes.length < 6000; i++) {
		for (let j = i + 1; j < boxes.length && found.length < 5; j++) {
			const a = boxes[i], b = boxes[j];
			const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
			const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
			if (a.e !== b.e && x > 3 && y > 5) found.push(a.text + " is drawn on " + b.text);
		}
	}
	return found;
})()`
