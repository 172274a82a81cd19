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
@@ -1,3 +1,4 @@
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

// inText are changes in a string of several lines and in code.
var inText = "package x\n\nconst text = `\n" + strings.Repeat("if it is\n", 8) + "return one\n" +
	strings.Repeat("if it is\n", 8) + "`\n\n// f returns.\n//\n//\nfunc f() int {\n\treturn 1\n}\n"

// colored returns the texts of the page that have a color of code: of each file the new ones before
// the removed ones. Marks divide them.
func (b *tab) colored(name string) string {
	b.t.Helper()
	return eval[string](b, fmt.Sprintf(`[...CSS.highlights.get("code-%s")].map((r) => r.startContainer === r.endContainer `+
		`? r.startContainer.data.slice(r.startOffset, r.endOffset) : "?").join(" ")`, name))
}

// TestDiffs checks what scripts add to a diff of several files, in the viewer and in a review: the
// colors of code, which leave the marked words and the lines as they are, and the files that were
// viewed, which stay folded. A hunk of a patch has colors if what it begins in is known; that is so
// for all between two revisions.
func TestDiffs(t *testing.T) {
	w := newWorkspace(t, "")
	id := w.id(twoFiles, "publish", "-", "--agent", "builder", "--channel", "patch", "--title", "Two files", "--filename",
		"two.patch", "--ask-review")
	old := w.id(inText, "publish", "-", "--agent", "builder", "--channel", "code", "--title", "Code", "--filename", "x.go",
		"--ask-review")
	changed := w.id(strings.NewReplacer("return one", "return two", "return 1", "return 2").Replace(inText), "publish", "-",
		"--agent", "builder", "--channel", "code", "--title", "Code", "--filename", "x.go", "--replaces", old)
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
		for name, want := range map[string]string{"keyword": "return return print print", "string": `" b " " a "`,
			"number": ""} {
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
		if got := eval[string](b, count+`+ ": " + `+isOpen); got != "0 of 2 viewed: true true" {
			t.Errorf("%s: got %q at first", site, got)
		}
		b.do(chromedp.Click(`.file-list a[href^="#file-"]`, chromedp.ByQuery))
		if !eval[bool](b, `document.querySelector(".diff-file details:target summary").textContent.includes("pay/client.go")`) {
			t.Errorf("%s: the list of files does not lead to the first one", site)
		}
		b.do(chromedp.Click(".diff-file .viewed input", chromedp.ByQuery))
		if got := eval[string](b, `document.querySelector(".file-list .seen").textContent`); got != "pay/client.go" {
			t.Errorf("%s: the list of files has %q as viewed", site, got)
		}
		if got := eval[string](b, count+`+ ": " + `+isOpen); got != "1 of 2 viewed: false true" {
			t.Errorf("%s: got %q after the first file was viewed", site, got)
		}
		b.open(page)
		b.await(site+": it is folded in the next page, too", count+`=== "1 of 2 viewed" && `+isOpen+`=== "false true"`, 5*time.Second)
		if site == "viewer" {
			w.run("a comment", "review", id, "-m", "Why once?", "--agent", "lead")
			b.await("the page is replaced", `document.body.innerText.includes("Why once?")`, 5*time.Second)
			b.await("what was viewed stays folded", count+`=== "1 of 2 viewed" && `+isOpen+`=== "false true"`, 5*time.Second)
			b.await("the new page has colors", `[...CSS.highlights.get("code-keyword")].every((r) => `+
				`document.contains(r.startContainer))`, 5*time.Second)
		}
		b.pictures("diff-"+site, page+map[string]string{"viewer": "", "review": "?view=split"}[site])
		b.look(1280, false)
		for view, want := range map[string]string{"": "func int return return", "&view=split": "func int return func int return"} {
			b.open("/artifacts/" + changed + "?diff=" + old + view)
			b.await(site+": the code of revisions has colors", `CSS.highlights.get("code-keyword")?.size > 0`, 5*time.Second)
			if got := b.colored("keyword"); got != want {
				t.Errorf("%s, %s: got the keywords %q, want %q", site, view, got, want)
			}
			if got := b.colored("string"); !strings.HasPrefix(got, "if it is if it is if it is return ") {
				t.Errorf("%s, %s: got the strings %q", site, view, got)
			}
		}
		b.clean("diffs in the " + site)
	}
}
