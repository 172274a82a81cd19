package browser

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// updateTime is how long a page may take to show what was published.
const updateTime = time.Second

// TestPages opens every page in each width and theme: nothing is reported on the
// console, nothing is requested from another host, every link leads somewhere,
// nothing is wider than the window, and axe finds no violation.
func TestPages(t *testing.T) {
	w := newWorkspace(t, "")
	s := fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(strings.TrimPrefix(link, base))
	pages := s.pages()
	links := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, width := range []int{390, 1280} {
			for _, dark := range []bool{false, true} {
				b.look(width, dark)
				b.open(pages[name])
				theme := map[bool]string{false: "light", true: "dark"}[dark]
				where := fmt.Sprint(pages[name], " ", width, " ", theme)
				b.axe(where)
				if wide := eval[float64](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
					t.Errorf("%s: the page is %v px wider than the window", where, wide)
				}
				b.draw()
				b.shoot(fmt.Sprint(name, "-", width, "-", theme))
				if name != "missing" {
					b.clean(where)
				}
			}
		}
		for _, href := range eval[[]string](b,
			`[...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href"))`) {
			links[href] = pages[name]
		}
		b.problems = nil // the missing page is reported as such
	}
	b.open("/")
	for href, from := range links {
		if strings.HasPrefix(href, "#") || strings.HasPrefix(href, "?") {
			continue
		}
		if status := eval[int](b, fmt.Sprintf("fetch(%q, {method: 'HEAD'}).then((r) => r.status)", href)); status != 200 &&
			!strings.Contains(from, "missing") {
			t.Errorf("%s: the link to %s has status %d", from, href, status)
		}
	}
}

// axe reports what axe-core, the file that E2E_AXE names, finds on the page.
func (b *tab) axe(where string) {
	b.t.Helper()
	source, err := os.ReadFile(os.Getenv("E2E_AXE"))
	if err != nil {
		b.t.Skip("E2E_AXE does not name the script of axe-core; .ci/browser installs it")
	}
	b.do(chromedp.Evaluate(string(source), nil))
	found := eval[string](b,
		`axe.run({resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) => ({id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200) + " " + (n.failureSummary || "").slice(0, 200))}))))`)
	var violations []struct {
		ID, Help string
		Nodes    []string
	}
	must(b.t, json.Unmarshal([]byte(found), &violations))
	for _, v := range violations {
		b.t.Errorf("%s: axe: %s: %s\n\t%s", where, v.ID, v.Help, strings.Join(v.Nodes, "\n\t"))
	}
}

// TestContent checks what the pages show.
func TestContent(t *testing.T) {
	w := newWorkspace(t, "")
	s := fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(strings.TrimPrefix(link, base))
	for _, tt := range []struct {
		path string
		want []string
	}{
		{"/", []string{"Needs you", "Casey - deep-dive-app (In Progress)", "2 running threads",
			"Add metrics to the payment client.", "go test ./pay", "pay/client.go", "competing", "stale", "Pipelines", "Board",
			"Add retries to the payment client", "chosen", "builder", "Alex the Facilitator - intake-app", "Scout - true"}},
		{"/sessions", []string{"Alex the Facilitator", "Alex the Facilitator - intake-app (", "intake-app", "Casey",
			"7d1f6f3e-0a5c-4a52-9a0c-5a3a4f0c1b2d", "no manifest"}},
		{"/sessions?status=running", []string{"Casey - deep-dive-app (In Progress)"}},
		{"/sessions/" + s.session, []string{"Outputs", "requirements.md", "What the payment service must do", "notes/",
			"manifest.json", "built on by", "Casey"}},
		{"/sessions/" + s.running, []string{"report.md", "expected", "builds on", "Alex the Facilitator", "Scout - true (",
			"Cost", "lower bound"}},
		{"/sessions/" + s.session + "/files/notes/plan.md", []string{"Retries", "connection refused"}},
		{"/artifacts/" + s.design2, []string{"Retry failed payments, except after a timeout", "v2", "competes with",
			"Revisions", "Used to make"}},
		{"/artifacts/design:v1", []string{"Retry failed payments", "superseded", "replaced by"}},
		{"/artifacts/" + s.patch1, []string{"Made from", "replaced", "are active"}},
		{"/artifacts/" + s.design2 + "?diff=" + s.design1, []string{"Changes from v1 to v2", "timeout | **no**"}},
		{"/artifacts?notice=commented", []string{"Latency by retry", "notice: commented"}},
		{"/artifacts/" + s.table + "?lines", []string{"Under which load?"}},
		{"/compare?ref=" + s.design2, []string{"by", "Alternative: a queue in front of the service", "connection refused"}},
		{"/channels", []string{"design", "patch", "verification"}},
		{"/channels/design?status=all", []string{"superseded", "Alternative: a queue in front of the service"}},
		{"/search?q=retries", []string{"Artifacts", "retries"}},
		{"/search?q=timeouts", []string{"Threads", "Payments fail for a second", "#M1",
			"I look at how the client reports"}},
		{"/threads", []string{"Payments fail for a second", "Add metrics to the payment client.", "retries",
			"claude-opus-4-1"}},
		{"/threads/claude/" + conversation, []string{"Timeline", "Thinking", "grep -rn", "failed", "find every caller",
			"Cache read"}},
		{"/threads/claude/" + conversation + "/scout1", []string{"Three callers."}},
		{"/pipelines", []string{"42"}},
		{"/pipelines/42", []string{"Next:", "plan", "implement", "review"}},
		{"/cost", []string{"lower bound", "handoff cost --by day", "total"}},
		{"/cost?by=model", []string{"claude-opus-4-1-20250805", "unattributed"}},
		{"/check", []string{"no problems"}},
		{"/artifacts/no-such-thing", []string{"Not found"}},
	} {
		var text string
		absent := func(want string) bool { return !strings.Contains(text, want) }
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(200 * time.Millisecond) {
			b.open(tt.path) // again while threads are read, for which a page does not wait
			b.await("folders are read", `!document.getElementById("main").innerText.includes("are being read")`, 30*time.Second)
			text = eval[string](b, `document.getElementById("main").innerText`)
			if !slices.ContainsFunc(tt.want, absent) || time.Now().After(end) {
				break
			}
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q\n%s", tt.path, want, text)
			}
		}
	}
}

// TestTheme changes the theme of the system while a page is open: its diagram is drawn again.
func TestTheme(t *testing.T) {
	w := newWorkspace(t, "")
	fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.look(1280, false)
	b.open(strings.TrimPrefix(link, base))
	b.open("/pipelines/42")
	b.draw()
	b.do(chromedp.Evaluate(`addEventListener("message", () => window.drawn = true)`, nil))
	b.look(1280, true)
	b.await("the diagram is drawn again", "window.drawn", 20*time.Second)
	b.clean("/pipelines/42")
}

// TestLive publishes while a page is open: the page shows it within a second, and
// keeps what its reader did.
func TestLive(t *testing.T) {
	w := newWorkspace(t, "")
	s := fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(strings.TrimPrefix(link, base))
	for i, path := range []string{"/", "/channels/design", "/channels"} {
		b.open(path)
		b.await("the stream is open", `document.getElementById("live").hidden`, 5*time.Second)
		time.Sleep(300 * time.Millisecond) // the stream watches the log
		title := fmt.Sprint("Published while the page is open ", i)
		want := fmt.Sprintf(`document.getElementById("main").innerText.includes(%q)`, title)
		if path == "/channels" {
			want = `document.getElementById("main").innerText.includes("new-channel")`
		}
		channel := "design"
		if path == "/channels" {
			channel = "new-channel"
		}
		w.run("text", "publish", "-", "--channel", channel, "--title", title)
		start := time.Now()
		b.await(path+" shows the artifact", want, 5*time.Second)
		if took := time.Since(start); took > updateTime {
			t.Errorf("%s: updated after %v, want %v", path, took, updateTime)
		}
		b.clean(path)
	}
	b.open("/sessions/" + s.session)
	b.do(chromedp.Evaluate(`document.getElementById("dir-notes").open = false`, nil), chromedp.KeyEvent("j"))
	chosen := eval[string](b, `document.querySelector(".selected a").textContent`)
	time.Sleep(300 * time.Millisecond)
	w.run("", "session", "set", "--tag", "payments", "--session", s.session)
	b.await("the page shows the tag", `document.getElementById("main").innerText.includes("payments")`, 5*time.Second)
	if eval[bool](b, `document.getElementById("dir-notes").open`) {
		t.Error("the update opens the folder that was closed")
	}
	if now := eval[string](b, `document.querySelector(".selected a")?.textContent ?? ""`); now != chosen {
		t.Errorf("the update selects %q, want %q", now, chosen)
	}
	b.clean("live")
}

// TestKeyboard moves through the pages without a pointer.
func TestKeyboard(t *testing.T) {
	w := newWorkspace(t, "")
	s := fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.open(strings.TrimPrefix(link, base))
	at := func(what, path string) {
		t.Helper()
		b.await(what, fmt.Sprintf("location.pathname + location.search === %q && document.readyState === 'complete'", path),
			5*time.Second)
	}
	b.open("/channels/design")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("k"), chromedp.KeyEvent("j"),
		chromedp.KeyEvent(kb.Enter))
	at("enter opens the second row", "/artifacts/"+s.design2)
	b.do(chromedp.KeyEvent(kb.Backspace))
	at("backspace leads to the channel", "/channels/design")
	b.do(chromedp.KeyEvent(kb.Backspace))
	at("backspace leads to the channels", "/channels")
	b.do(chromedp.KeyEvent("?"))
	b.await("? shows the help", `document.getElementById("help").open`, time.Second)
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Escape))
	b.await("escape closes it", `!document.getElementById("help").open`, time.Second)
	b.do(chromedp.KeyEvent("/"))
	b.await("/ leads to the search", `document.activeElement.id === "q"`, time.Second)
	// the driver types the key although it is handled
	b.do(chromedp.Evaluate(`document.getElementById("q").value = ""`, nil),
		chromedp.SendKeys("#q", "retries"), chromedp.KeyEvent(kb.Enter))
	at("enter searches", "/search?q=retries")
	b.open("/channels/design")
	b.do(chromedp.Evaluate(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`,
		nil), chromedp.KeyEvent("j"), chromedp.KeyEvent("y"))
	b.await("y copies the ref of the row", fmt.Sprintf("window.copied === %q", s.competes), time.Second)
	b.open("/artifacts/" + s.design2)
	b.do(chromedp.Evaluate(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`,
		nil))
	for key, want := range map[string]string{"c": " -m TEXT", "a": " --approve", "r": " --request-changes -m TEXT"} {
		b.do(chromedp.KeyEvent(key))
		b.await(key+" copies a command", fmt.Sprintf("window.copied === %q", "handoff review "+s.design2+want), time.Second)
	}
	b.open("/threads/claude/" + conversation)
	for _, want := range []string{"open", "!open"} {
		b.do(chromedp.KeyEvent("o"))
		b.await("o opens and closes the calls", `document.querySelectorAll(".messages details").length > 2 &&
			[...document.querySelectorAll(".messages details")].every(({open}) => `+want+`)`, time.Second)
	}
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	second := eval[string](b, `document.querySelectorAll(".messages [data-row]")[1].id`)
	b.await("j selects the second message", fmt.Sprintf(`document.querySelector(".selected").id === %q`, second), time.Second)
	b.do(chromedp.KeyEvent("K"))
	b.await("K selects the prompt before", `document.querySelector(".selected").matches(".m-user")`, time.Second)
	first := eval[string](b, `document.querySelector(".selected").id`)
	b.do(chromedp.KeyEvent("J"))
	b.await("J selects the next prompt", fmt.Sprintf(`document.querySelector(".selected").matches(".m-user") &&
		document.querySelector(".selected").id !== %q`, first), time.Second)
	b.do(chromedp.Evaluate(`navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }`,
		nil))
	for key, want := range map[string]string{"Y": "Now describe it in the changelog.",
		"c": "cd " + w.dir + " && claude --resume " + conversation} {
		b.do(chromedp.KeyEvent(key))
		b.await(key+" copies", fmt.Sprintf("window.copied === %q", want), 5*time.Second)
	}
	b.open("/threads?text=payment")
	threads := eval[[]string](b, `[...document.querySelectorAll("tr[data-row] th a")].map((a) => a.pathname + a.search)`)
	b.do(chromedp.Click("tr[data-row] th a"))
	at("a click opens the first thread", threads[0])
	isBeside := `document.querySelector(".beside [aria-current]")?.pathname === location.pathname`
	b.await("the list is beside it", isBeside, 5*time.Second)
	b.do(chromedp.KeyEvent("]"))
	at("] opens the next thread", threads[1])
	b.await("the list is beside that", isBeside, 5*time.Second)
	b.do(chromedp.KeyEvent("["))
	at("[ opens the one before", threads[0])
	b.open("/channels")
	b.do(chromedp.SendKeys("#q", "paym"))
	b.await("titles are offered", `document.querySelectorAll("#titles option").length > 1`, 5*time.Second)
	b.do(chromedp.Evaluate(`q.value = [...titles.options].find((o) => o.dataset.url.startsWith("/threads/")).value;
		q.dispatchEvent(new Event("input"))`, nil))
	b.await("the chosen one is opened", `location.pathname.startsWith("/threads/")`, 5*time.Second)
	b.open("/channels/design")
	b.await("the list is ready", `document.querySelectorAll("[data-row] a.what").length > 1`, time.Second)
	list := eval[[]string](b, `[...document.querySelectorAll("[data-row] a.what")].map((a) => a.pathname)`)
	b.do(chromedp.Click("[data-row] a.what"))
	at("a click opens the first row", list[0])
	b.await("the page is ready", `true`, 5*time.Second)
	b.do(chromedp.KeyEvent("]"))
	at("] opens the next of the list", list[1])
	b.await("the page is ready", `true`, 5*time.Second)
	b.do(chromedp.KeyEvent("["))
	at("[ opens the one before", list[0])
	b.clean("keyboard")
}

// TestWithoutScript reads the pages where no script runs.
func TestWithoutScript(t *testing.T) {
	w := newWorkspace(t, "")
	s := fill(w)
	base, link := w.serve()
	b := newTab(t, browser(t), base)
	b.do(setScripts(false))
	b.open(strings.TrimPrefix(link, base))
	for _, path := range s.pages() {
		b.open(path)
		if !b.shows("h1") || !b.shows("header a") {
			t.Errorf("%s has no heading or no navigation without scripts", path)
		}
	}
	b.open("/cost?by=model")
	b.await("costs are read", `document.querySelector(".series") !== null`, 30*time.Second)
	sums := eval[string](b, `document.querySelector(".costs").innerText`)
	b.do(chromedp.Click(".series a", chromedp.ByQuery))
	b.await("the first series is hidden", `document.querySelector("#hidden") && !document.querySelector("figure path.c1")`,
		5*time.Second)
	if got := eval[string](b, `document.querySelector(".costs").innerText`); got != sums {
		t.Errorf("the table is %s without a series, want %s", got, sums)
	}
}
