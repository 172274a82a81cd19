package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

const twoFiles = `diff --git a/pay/client.go b/pay/client.go
--- a/pay/client.go
+++ b/pay/client.go
@@ -10,4 +10,5 @@ func (c *Client) Pay(ctx context.Context) error {
 	req := c.request()
-	return c.do(req)
+	return c.do(ctx, req) // "once"
+	/* not
 }
@@ -90 +91 @@
-	const limit = 1
+	const limit = 20
diff --git a/pay/queue.py b/pay/queue.py
--- a/pay/queue.py
+++ b/pay/queue.py
@@ -1 +1 @@
-print("a")
+print("b")
`

// colored returns the texts of the page that have a color of code: of each hunk what was added
// before what was removed. Marks divide them.
func (b *tab) colored(name string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`[...CSS.highlights.get("code-%s")].map((r) => r.startContainer === r.endContainer `+
		`? r.startContainer.data.slice(r.startOffset, r.endOffset) : "?").join(" ")`, name))
}

// TestDiffs checks what scripts add to a diff of several files, in the viewer and in a review: the
// colors of code, which leave the marked words and the lines as they are, and the files that were
// viewed, which stay folded.
func TestDiffs(t *testing.T) {
	w := newWorkspace(t, "")
	id := w.id(twoFiles, "publish", "-", "--agent", "builder", "--channel", "patch", "--title", "Two files", "--filename",
		"two.patch", "--ask-review")
	base, link := w.serve()
	ctx := browser(t)
	b := newTab(t, ctx, base)
	b.open(strings.TrimPrefix(link, base))
	for _, site := range []string{"viewer", "review"} {
		if site == "review" {
			base, link = w.review()
			b = newTab(t, ctx, base)
			b.open(strings.TrimPrefix(link, base))
		}
		b.look(1280, false)
		page := "/artifacts/" + id
		b.open(page)
		b.await(site+": code has colors", `CSS.highlights.get("code-keyword")?.size > 0`, 5*time.Second)
		for name, want := range map[string]string{"keyword": "return return const const print print",
			"string": `" b " " a "`, "number": "20 1"} {
			if got := b.colored(name); got != want {
				t.Errorf("%s: got %q with the color of a %s, want %q", site, got, name, want)
			}
		}
		if got := eval[string](b, `[...document.querySelectorAll("#main mark")].map((m) => m.textContent).join("|")`); got !=
			"req)|ctx, req) // \"once\"|1|20|a|b" {
			t.Errorf("%s: got the marked words %q", site, got)
		}
		count := `document.querySelector(".viewed-count").textContent`
		isOpen := `[...document.querySelectorAll(".diff-file > details")].map((d) => d.open).join(" ")`
		if got := eval[string](b, count+`+ ": " + `+isOpen); got != "0/2 viewed: true true" {
			t.Errorf("%s: got %q at first", site, got)
		}
		b.do(chromedp.Click(".diff-file .viewed input", chromedp.ByQuery))
		if got := eval[string](b, count+`+ ": " + `+isOpen); got != "1/2 viewed: false true" {
			t.Errorf("%s: got %q after the first file was viewed", site, got)
		}
		b.open(page)
		b.await(site+": it is folded in the next page, too", count+`=== "1/2 viewed" && `+isOpen+`=== "false true"`, 5*time.Second)
		if site == "viewer" {
			w.run("a comment", "review", id, "-m", "Why once?", "--agent", "lead")
			b.await("the page is replaced", `document.body.innerText.includes("Why once?")`, 5*time.Second)
			b.await("what was viewed stays folded", count+`=== "1/2 viewed" && `+isOpen+`=== "false true"`, 5*time.Second)
			b.await("the new page has colors", `[...CSS.highlights.get("code-keyword")].every((r) => `+
				`document.contains(r.startContainer))`, 5*time.Second)
		}
		b.pictures("diff-"+site, page)
		b.clean("diffs in the " + site)
	}
}
