package preview

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"
	"testing"
)

const sides = "--- a/x.go\n+++ b/x.go\n@@ -4,4 +4,3 @@ func f() {\n one\n-two\n-three\n+2 & two\n four\n\\ No newline at end of file\n"

// TestSplit draws a diff side by side: each line with its number in its text, removed lines beside
// those in their place, and the other lines across.
func TestSplit(t *testing.T) {
	p := render(t, Source{Name: "x.patch"}, Options{Split: true}, sides)
	checkSafe(t, string(p.HTML))
	tag := regexp.MustCompile(`<(/?)(ol|li|div) ?(?:class="([\w ]+)")?(?: aria-hidden="true")?(?: data-old="(\d+)")?(?: data-new="(\d+)")?[^>]*>(?:<code>(.*)</code>)?`)
	var got strings.Builder
	for _, m := range tag.FindAllStringSubmatch(string(p.HTML), -1) {
		switch {
		case m[2] == "li" && m[1] == "/":
			got.WriteString("\n")
		case m[1] == "" && strings.HasPrefix(m[3], "src"):
			fmt.Fprintf(&got, "[%s %s/%s %s]", strings.TrimPrefix(m[3], "src "), m[4], m[5], m[6])
		}
	}
	want := `[head / --- a/x.go]
[head / +++ b/x.go]
[hunk / @@ -4,4 +4,3 @@ func f() {]
[ctx 4/  one][ctx /4  one]
[del 5/ -two][add /5 +<mark>2 &amp; </mark>two]
[del 6/ -three][none / ]
[ctx 7/  four][ctx /6  four]
[head / \ No newline at end of file]
`
	if got.String() != want || !p.Split {
		t.Errorf("got\n%swant\n%sof %s", got.String(), want, p.HTML)
	}
	if p := render(t, Source{Name: "x.go"}, Options{Split: true}, "package x\n"); p.Split {
		t.Error("code is side by side")
	}
}

// TestLayout draws what a page adds to lines, in both views of a diff: the ID and the form of each line that has
// a number, once, what is below it, and which lines are marked.
func TestLayout(t *testing.T) {
	lines, _ := Lines([]byte(sides))
	for _, split := range []bool{false, true} {
		html := string(Layout{Split: split, From: 5, To: 6, Address: func(n int) string { return fmt.Sprintf(`?a="&at=L%d#form`, n) },
			Below: func(n int) template.HTML { return template.HTML(fmt.Sprintf("<li>below %d</li>\n", n)) }}.
			HTML(FilesOf(lines, "")))
		at := -1
		for n := 1; n <= len(lines); n++ {
			id := fmt.Sprintf(` id="L%d"`, n)
			link := fmt.Sprintf(` data-row><a class="plus" href="?a=&#34;&amp;at=L%d#form" aria-label="Comment on line %d">+</a><code>`, n, n)
			below := strings.Index(html, fmt.Sprintf("<li>below %d</li>", n))
			if strings.Count(html, id) != 1 || strings.Count(html, link) != 1 || below < strings.Index(html, id) {
				t.Errorf("split %v: line %d is not there once, with its link, before what is below it\n%s", split, n, html)
			}
			if before := strings.Index(html, id); n < 6 && before < at {
				t.Errorf("split %v: line %d is before the line above it", split, n)
			} else {
				at = before
			}
		}
		if marked := regexp.MustCompile(` at" id="L(\d+)"`).FindAllStringSubmatch(html, -1); len(marked) != 2 ||
			marked[0][1]+marked[1][1] != "56" {
			t.Errorf("split %v: got the marked lines %q, want 5 and 6", split, marked)
		}
	}
	text, _ := Lines([]byte("one\n<two>\n"))
	if got := string(Layout{Split: true}.HTML(FilesOf(text, "a.go"))); got !=
		`<ol class="lines" aria-label="Lines" data-language="go">`+"\n"+`<li class="src" id="L1" data-new="1"><code>one</code></li>`+
			"\n"+`<li class="src" id="L2" data-new="2"><code>&lt;two&gt;</code></li>`+"\n</ol>\n" {
		t.Errorf("a text: got %s", got)
	}
}

// TestTextsOf gives a diff the addresses of its texts, unless one is too large to get colors.
func TestTextsOf(t *testing.T) {
	from, to := Version{Name: "x.go", URL: `/a"`, Text: []byte("a\n")}, Version{Name: "x.go", URL: "/b", Text: []byte("b\n")}
	if html := string(Changes(from, to, Layout{}).HTML); !strings.Contains(html,
		`data-language="go" data-before="/a&#34;" data-after="/b">`) {
		t.Errorf("got %s", html)
	}
	to.Text = []byte(strings.Repeat("b", coloredSize+1))
	if html := string(Changes(from, to, Layout{}).HTML); strings.Contains(html, "data-before") {
		t.Error("a text that is too large has an address")
	}
	to.Name, to.Text = "x", []byte("b\n")
	if html := string(Changes(from, to, Layout{}).HTML); strings.Contains(html, "data-after") {
		t.Error("a text without a language has an address")
	}
}
