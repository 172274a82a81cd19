package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// review starts review --web at a terminal, as a person does, and returns its address and the
// link in the file that it names.
func (w *workspace) review() (base, link string) {
	w.t.Helper()
	terminal, err := exec.LookPath("script") // of util-linux
	if err != nil {
		w.t.Skip("script is not installed, which gives a program a terminal")
	}
	c := exec.Command(terminal, "-qec", program(w.t)+" review --web", "/dev/null")
	c.Dir, c.Env = w.dir, append(w.env, "BROWSER=true")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	must(w.t, err)
	must(w.t, c.Start())
	w.t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for link == "" && lines.Scan() {
		file, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "open ")
		if !ok {
			continue
		}
		text, err := os.ReadFile(file)
		must(w.t, err)
		link = regexp.MustCompile(`url=([^"]+)`).FindStringSubmatch(string(text))[1]
	}
	go io.Copy(io.Discard, out)
	u, err := url.Parse(link)
	must(w.t, err)
	return "http://" + u.Host, link
}

// An answer is what handoff show --json prints of an artifact.
type answer struct {
	Reviews []struct {
		Decision string
		By       struct{ Relation string }
	}
	Discussion []struct {
		Text, State, Quote string
		Place              struct{ FirstLine, LastLine int }
		Replies            []struct{ Text, State string }
	}
}

func (w *workspace) show(ref string) (a answer) {
	w.t.Helper()
	must(w.t, json.Unmarshal([]byte(w.run("", "show", ref, "--json")), &a))
	return a
}

// choose selects the text of lines of the page of a review.
func (b *tab) choose(from, to string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(fmt.Sprintf(`{
		const r = document.createRange(), a = document.querySelector("#%s code"), b = document.querySelector("#%s code");
		r.setStart(a.firstChild, 0); r.setEnd(b.firstChild, b.firstChild.length);
		getSelection().removeAllRanges(); getSelection().addRange(r);
	}`, from, to), nil))
}

const (
	plan     = "one\ntwo\nthree\nfour\n"
	textOfIt = `(document.getElementById("main")?.innerText ?? "")`
	saved    = `!document.querySelector("#form [name=text]")?.value && ` + textOfIt
)

// save sends the form with the keys.
func save() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.KeyEvent("\r", chromedp.KeyModifiers(input.ModifierCtrl)).Do(ctx)
	})
}

// TestReviewPages reviews two revisions in the browser with the keyboard: comments on selected
// text and on a changed line, a draft, replies, a second reviewer, and an approval.
func TestReviewPages(t *testing.T) {
	w := newWorkspace(t, "")
	first := w.id(plan, "publish", "-", "--agent", "builder", "--channel", "design", "--title", "A plan", "--ask-review")
	base, link := w.review()
	ctx := browser(t)
	b := newTab(t, ctx, base)
	b.look(1280, false)
	b.open(strings.TrimPrefix(link, base))
	b.await("the plan waits", textOfIt+`.includes("builder waits")`, 5*time.Second)
	b.pictures("review-queue", "/")
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent(kb.Enter))
	b.await("enter opens it", fmt.Sprintf(`location.pathname === "/artifacts/%s" && document.getElementById("L4")`, first),
		5*time.Second)

	b.choose("L2", "L3")
	b.do(chromedp.KeyEvent("W"))
	b.await("a letter opens the form", `document.activeElement.value === "W"`, 5*time.Second)
	b.do(chromedp.KeyEvent("hich?"))
	b.do(chromedp.Reload())
	b.await("the draft is kept", `document.querySelector("#form [name=text]")?.value === "Which?"`, 5*time.Second)
	b.pictures("review-form", "")
	b.do(chromedp.Focus("#form [name=text]"), save())
	b.await("the comment is shown", textOfIt+`.includes("1 open comment.")`, 5*time.Second)
	if got := w.show(first).Discussion; len(got) != 1 || got[0].Text != "Which?" || got[0].Place.FirstLine != 2 ||
		got[0].Place.LastLine != 3 {
		t.Errorf("got the comments %+v", got)
	}
	b.await("the draft is gone", saved, 5*time.Second)

	other := newTab(t, ctx, base)
	other.open("/artifacts/" + first)
	b.do(chromedp.Focus("#decision [name=text]"), chromedp.KeyEvent("Not yet"))
	other.choose("L1", "L1")
	other.do(input.DispatchKeyEvent(input.KeyDown).WithKey("c"))
	other.await("c opens the form", `document.activeElement.name === "text"`, 5*time.Second)
	other.do(input.InsertText("c"), input.DispatchKeyEvent(input.KeyUp).WithKey("c")) // the text of a key can be late
	other.do(chromedp.KeyEvent("Why one?"), save())
	other.await("the other comment is shown", textOfIt+`.includes("2 open comments")`, 5*time.Second)
	b.do(page.BringToFront(), chromedp.Evaluate(`document.activeElement.blur()`, nil)) // a hidden tab asks for nothing
	b.await("the first reviewer sees it", textOfIt+`.includes("Why one?")`, 5*time.Second)
	if got := w.show(first).Discussion; len(got) != 2 || got[1].Text != "Why one?" && got[0].Text != "Why one?" {
		t.Errorf("got the comments %+v, want Why one?, without the key that opened the form", got)
	}
	if text := eval[string](b, `document.querySelector("#decision [name=text]").value`); text != "Not yet" {
		t.Errorf("the first reviewer wrote %q, want Not yet", text)
	}
	b.do(chromedp.Click("#changes"))
	b.await("changes are requested", textOfIt+`.includes("changes requested by")`, 5*time.Second)

	second := w.id(strings.Replace(plan, "two", "2", 1), "publish", "-", "--agent", "builder", "--channel", "design",
		"--title", "A plan", "--replaces", first)
	b.open("/artifacts/" + second)
	b.await("what changed is shown", `document.querySelector("#L2.add")`, 5*time.Second)
	b.pictures("review-changes", "")
	b.do(chromedp.Evaluate(`document.getElementById("L2").classList.add("selected")`, nil), chromedp.KeyEvent("c"))
	b.await("c opens the form on the changed line", `document.activeElement.name === "text"`, 5*time.Second)
	b.do(chromedp.KeyEvent("Better"), save())
	b.await("the comment on the changed line is shown",
		`document.querySelector("#L2 + .said")?.innerText.includes("Better")`, 5*time.Second)
	b.do(chromedp.Evaluate(`[...document.querySelectorAll(".switch a")].find((a) => a.textContent === "Split").click()`, nil))
	b.await("both texts are shown", `document.querySelector(".pair > #L2.add")`, 5*time.Second)
	b.do(chromedp.KeyEvent("j"), chromedp.KeyEvent("j"), chromedp.KeyEvent("c"))
	b.await("c opens the form below both texts", `document.activeElement.closest(".pair:has(#L2) + .said + #form")`, 5*time.Second)
	b.do(chromedp.KeyEvent("Beside"), save())
	b.await("the comment is below both texts, which are still side by side",
		`document.querySelector(".pair:has(#L2) + .said")?.innerText.includes("Beside")`, 5*time.Second)
	b.pictures("review-split", "")
	b.look(1280, false)
	b.open("/artifacts/" + second)
	b.do(chromedp.Focus("#L2 + .said summary"), chromedp.KeyEvent(" "))
	b.await("the space bar opens the reply", `document.querySelector("#L2 + .said details").open`, 5*time.Second)
	b.do(chromedp.SendKeys("#L2 + .said details [name=text]", "Done"),
		chromedp.Click(`#L2 + .said details [value="resolve"]`))
	b.await("it is resolved", `document.querySelector("#L2 + .said")?.innerText.includes("resolved")`, 5*time.Second)
	b.do(chromedp.KeyEvent("a"))
	b.await("a goes to Approve", `document.activeElement.id === "approve"`, 5*time.Second)
	b.do(chromedp.KeyEvent("\r"))
	b.await("it is approved", textOfIt+`.includes("approved by")`, 5*time.Second)
	if got := w.show(second); len(got.Reviews) != 1 || got.Reviews[0].Decision != "approved" ||
		got.Reviews[0].By.Relation != "human" {
		t.Errorf("got the reviews %+v, want an approval by a person", got.Reviews)
	}
	b.clean("review")
	other.clean("the other review")
}

// pictures looks at a page, "" for the one that is open, in both themes and widths.
func (b *tab) pictures(name, path string) {
	b.t.Helper()
	for _, width := range []int{390, 1280} {
		for _, dark := range []bool{false, true} {
			b.look(width, dark)
			if path != "" {
				b.open(path)
			}
			where := fmt.Sprint(name, " ", width, " ", dark)
			b.axe(where)
			if wide := eval[float64](b, "document.documentElement.scrollWidth - innerWidth"); wide > 0 {
				b.t.Errorf("%s: the page is %v px wider than the window", where, wide)
			}
			b.shoot(fmt.Sprint(name, "-", width, "-", map[bool]string{false: "light", true: "dark"}[dark]))
		}
	}
}

// TestReviewForgery opens pages of another origin in the browser of a reviewer: a form that sends
// itself, and another name that leads to the server.
func TestReviewForgery(t *testing.T) {
	w := newWorkspace(t, "")
	id := w.id(plan, "publish", "-", "--channel", "design", "--ask-review")
	base, link := w.review()
	evil := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(out, `<main></main><form method="post" action="%s/artifacts/%s"><input name="action" value="approve">`+
			`<input name="token" value="x"></form><script>document.forms[0].submit()</script>`, base, id)
	}))
	t.Cleanup(evil.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(base, "http://"), ":")
	b := newTab(t, browser(t, chromedp.Flag("host-resolver-rules", "MAP evil.example 127.0.0.1")), base)
	b.open(strings.TrimPrefix(link, base))
	b.do(chromedp.Navigate(evil.URL))
	b.await("the form is refused", `document.querySelector("main")?.innerText.includes("another site")`, 5*time.Second)
	b.do(chromedp.Navigate("http://evil.example:" + port + "/artifacts/" + id))
	b.await("the name is refused", `document.querySelector("main")?.innerText.includes("unknown host")`, 5*time.Second)
	if got := w.show(id); len(got.Reviews)+len(got.Discussion) > 0 {
		t.Errorf("pages of another origin recorded %+v", got)
	}
}

// hostile are texts that run a script where they are taken for HTML.
var hostile = []string{
	`<script>window.ran = 1</script>`, `<img src=x onerror="window.ran = 1">`, `<svg onload="window.ran = 1">`,
	`"><script>window.ran = 1</script>`, `' onmouseover='window.ran = 1' autofocus onfocus='window.ran = 1`,
	`</textarea><script>window.ran = 1</script>`, `</code></li><iframe srcdoc="<script>parent.ran = 1</script>">`,
	`[x](javascript:window.ran=1)`, `<a href="javascript:window.ran=1">x</a>`, `<details open ontoggle="window.ran = 1">`,
	`{{.Token}} ${window.ran = 1}`, `<style>@import "javascript:window.ran=1"</style>`, `<math><mi xlink:href="data:x">`,
	"`<script>window.ran = 1</script>`", `<!--><script>window.ran = 1</script>`,
	`&lt;script&gt;window.ran = 1&lt;/script&gt;`,
}

// TestReviewTexts shows hostile texts as titles, names, content, comments, replies and drafts, in
// the pages of reviews and in the viewer: none runs.
func TestReviewTexts(t *testing.T) {
	w := newWorkspace(t, "")
	body := strings.Join(hostile, "\n")
	id := w.id(body, "publish", "-", "--agent", hostile[1], "--channel", "design", "--title", hostile[0], "--summary",
		hostile[3], "--ask-review", "--filename", "a.md")
	for i, text := range hostile {
		w.run(text, "review", id, "--lines", fmt.Sprint(i+1), "-m", "-", "--agent", text)
	}
	base, link := w.review()
	viewer, entry := w.serve()
	ctx := browser(t)
	for _, s := range []struct {
		base, link string
		paths      []string
	}{
		{base, link, []string{"/", "/artifacts/" + id, "/artifacts/" + id + "?at=L3#form", "/artifacts/" + id + "?rendered",
			"/artifacts/" + id + "/context", "/artifacts/" + id + "?at=L1&quote=" + url.QueryEscape(hostile[5])}},
		{viewer, entry, []string{"/", "/artifacts/" + id, "/?board=session", "/channels/design"}},
	} {
		b := newTab(t, ctx, s.base)
		b.open(strings.TrimPrefix(s.link, s.base))
		for _, path := range s.paths {
			b.open(path)
			for _, text := range hostile[:6] { // also as drafts
				b.do(chromedp.Evaluate(fmt.Sprintf(`for (const f of document.querySelectorAll("[data-draft]")) {
					f.value = %q; f.dispatchEvent(new Event("input", { bubbles: true })); }`, text), nil))
			}
			b.open(path)
			time.Sleep(100 * time.Millisecond)
			if eval[bool](b, `"ran" in window || !!document.querySelector("main :is(script, iframe, img, style)")`) {
				t.Errorf("%s: a text is part of the page", path)
			}
			b.clean(path)
		}
	}
}
