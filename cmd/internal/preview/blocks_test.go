package preview

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMarkdownChanges(t *testing.T) {
	from := "# A plan\n\nKept *text*.\n\n- one\n- two\n\nRemoved <b>.\n\n## End\n"
	to := "# A plan\n\nKept *text*.\n\n- one\n- three\n\n## End\n\nAdded.\n"
	want := `<div class="markdown">
<h2>A plan</h2>
<p>Kept <em>text</em>.</p>
<del class="block"><ul><li>one</li>
<li>two</li>
</ul>
</del>
<del class="block"><p>Removed <code class="html">&lt;b&gt;</code>.</p>
</del>
<ins class="block"><ul><li>one</li>
<li>three</li>
</ul>
</ins>
<h3>End</h3>
<ins class="block"><p>Added.</p>
</ins>
</div>
`
	if p := MarkdownChanges([]byte(from), []byte(to)); string(p.HTML) != want || len(p.Notes) > 0 {
		t.Errorf("got %v\n%s\nwant\n%s", p.Notes, p.HTML, want)
	}
	p := MarkdownChanges([]byte("a\n"), []byte("a\n\n\n"))
	if len(p.Notes) != 1 || strings.Contains(string(p.HTML), "block") {
		t.Errorf("texts that are rendered alike: got %v\n%s", p.Notes, p.HTML)
	}
	if p := MarkdownChanges([]byte("a\n"), []byte(strings.Repeat("b\n", docSize))); len(p.Notes) != 1 || p.HTML != "" {
		t.Errorf("a large text: got %v and %d bytes", p.Notes, len(p.HTML))
	}
}

// TestMarkdownChangesAll compares texts of random blocks: without what was removed they are the
// second one, and without what was added the first.
func TestMarkdownChangesAll(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int) string {
		var list []string
		for range n {
			list = append(list, []string{"# A", "- a\n- b", "text", "| a |\n|---|\n| b |", "> a",
				"```\n+a\n-b\n@@ -1 +1 @@\n```", fmt.Sprint("block ", r.IntN(40))}[r.IntN(7)])
		}
		return strings.Join(list, "\n\n")
	}
	for range 300 {
		from, to := []byte(text(r.IntN(30))), []byte(text(r.IntN(30)))
		html := string(MarkdownChanges(from, to).HTML)
		for tag, source := range map[string][]byte{"ins": from, "del": to} {
			blocks, err := blocksOf(source)
			if err != nil {
				t.Fatal(err)
			}
			got := html
			for {
				before, rest, found := strings.Cut(got, "<"+tag+` class="block">`)
				if !found {
					break
				}
				_, rest, _ = strings.Cut(rest, "</"+tag+">\n")
				got = before + rest
			}
			for _, s := range []string{`<div class="markdown">` + "\n", `<ins class="block">`, `<del class="block">`, "</ins>\n",
				"</del>\n", "</div>\n"} {
				got = strings.ReplaceAll(got, s, "")
			}
			if want := strings.ReplaceAll(strings.Join(blocks, ""), "</div>\n", ""); got != want {
				t.Fatalf("from %q to %q without %s: got %q, want %q", from, to, tag, got, want)
			}
		}
	}
}
