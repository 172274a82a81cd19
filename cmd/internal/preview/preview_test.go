package preview

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

func render(t *testing.T, s Source, o Options, content string) Preview {
	t.Helper()
	s.Body = strings.NewReader(content)
	p, err := Render(s, o)
	if err != nil {
		t.Fatalf("Render(%s): %v", s.Name, err)
	}
	return p
}

func TestKind(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n\x00\x00"
	for _, c := range []struct {
		name, media, content string
		kind                 Kind
		language             string
	}{
		{"a.md", "", "", Empty, ""},
		{"a.txt", "", png, Image, ""},
		{"a.png", "image/png", "plain", Text, ""},
		{"a.png", "", "GIF89a\x01", Image, ""},
		{"a", "", "\xff\xd8\xff\xe0", Image, ""},
		{"a", "", "RIFF\x00\x00\x00\x00WEBPVP8 ", Image, ""},
		{"a.svg", "image/svg+xml", "<svg onload=alert(1)>", Code, "xml"},
		{"a.png", "image/png", "<svg xmlns='http://www.w3.org/2000/svg'/>", Code, "xml"},
		{"a.html", "text/html", "<script>alert(1)</script>", Code, "xml"},
		{"a", "", "<!DOCTYPE html><p>", Code, "xml"},
		{"a.txt", "", "text\x00text", Binary, ""},
		{"a.txt", "", strings.Repeat("\xfe\xff", 50), Binary, ""},
		{"a.txt", "", "caf\xe9, and the rest of the text is readable", Text, ""},
		{"a.txt", "", `{"a": 1, "b": [2]}`, JSON, ""},
		{"a.log", "", "{not json}", Text, ""},
		{"a.jsonl", "", "{\"a\":1}\n{\"a\":2}\n", JSON, ""},
		{"a.json", "", `{"a": ` + strings.Repeat(" ", headSize) + "1}", JSON, ""},
		{"a.json", "", `{"a": "` + strings.Repeat("x", headSize) + `"}`, JSON, ""},
		{"a.txt", "", "diff --git a/x b/x\n", Diff, ""},
		{"change", "", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", Diff, ""},
		{"change", "", "From 1 Mon\nSubject: x\n---\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", Diff, ""},
		{"a.patch", "", "Why.\n\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", Diff, ""},
		{"a.md", "", "# R\n\nIt was:\n\n```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n```\n", Markdown, ""},
		{"report", "", "# R\n\nIt was:\n\n```diff\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n```\n", Markdown, ""},
		{"a_test.go", "", "package a\n\nconst patch = `\n--- a\n+++ b\n@@ -1 +1 @@\n-x\n`\n", Code, "go"},
		{"a.md", "", "text", Markdown, ""},
		{"output", "text/markdown; charset=utf-8", "text", Markdown, ""},
		{"output", "", "# Title\n\ntext\n", Markdown, ""},
		{"a.csv", "", "a,b\n1,2\n", Table, ""},
		{"a.txt", "", "\x1b[31mred\x1b[0m\n", Log, ""},
		{"a.go", "", "package a\n", Code, "go"},
		{"run", "", "#!/usr/bin/env python3\n", Code, "python"},
		{"Makefile", "", "all:\n", Code, "makefile"},
		{"notes", "", "text\n", Text, ""},
	} {
		p := render(t, Source{Name: c.name, MediaType: c.media, URL: "/raw"}, Options{}, c.content)
		if p.Kind != c.kind || p.Language != c.language {
			t.Errorf("%s (%s) %.20q: got %s %q, want %s %q", c.name, c.media, c.content, p.Kind, p.Language, c.kind, c.language)
		}
		checkSafe(t, string(p.HTML))
	}
}

// A tag that this package may write. Addresses are checked on their own.
var (
	anyTag  = regexp.MustCompile(`<[^>]*>?`)
	goodTag = regexp.MustCompile(
		`^</?(p|div|pre|code|span|h[2-6]|hr|br|em|strong|del|blockquote|ul|ol|li|table|thead|tbody|tr|th|td|details|summary|figure|img|a|input|mark)` +
			`( (class|id|href|title|rel|target|start|tabindex|scope|type|aria-label|data-old|data-new|data-before|data-after|data-file|data-language|src|alt|loading)="[^"<>]*"| (open|checked|disabled|data-diagram|aria-hidden="true"))*>$`)
	address = regexp.MustCompile(`(href|src)="([^"]*)"`)
	goodURL = regexp.MustCompile(`^(https?://[^/]|mailto:|#md-|#file-[0-9a-f]{16}$|/raw$|data:image/(png|jpeg|gif|webp);base64,)`)
)

// checkSafe reports a tag, an attribute, an address or a character that no preview
// may contain.
func checkSafe(t *testing.T, html string) {
	t.Helper()
	for _, tag := range anyTag.FindAllString(html, -1) {
		if !goodTag.MatchString(tag) {
			t.Errorf("the page has the tag %q", tag)
		}
		for _, a := range address.FindAllStringSubmatch(tag, -1) {
			if !goodURL.MatchString(a[2]) {
				t.Errorf("the page has the address %q", a[2])
			}
		}
	}
	for _, r := range html {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || unicode.In(r, unicode.Cf) && r != '\u200d' &&
			r != '\u200c' {
			t.Errorf("the page has the character %U", r)
		}
	}
}

// hostile are contents that try to run a script, to load something, or to look
// like something else.
var hostile = []string{
	"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
	"<a href=javascript:alert(1)>x</a>",
	"[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](java&#10;script:alert(1))",
	"[x](&#106;avascript:alert(1))", "[x](\\javascript:alert(1))",
	"[x](data:text/html;base64,PHNjcmlwdD4=)", "[x](vbscript:x)", "[x](//evil.example/x)", "[x](file:///etc/passwd)",
	"[x](/etc/passwd)", "[x](http:evil)",
	"![x](https://evil.example/pixel.png)", "![x](javascript:alert(1))", "<https://a.example/\"onclick=alert(1)>",
	"<javascript:alert(1)>",
	"[x](https://a.example/\"onmouseover=\"alert(1))", "[x](<https://a.example/\" onclick=\"x>)",
	"https://a.example/\"><script>", "[a]: javascript:alert(1)\n\n[a]",
	"# <script>\n\n## \" onclick=x", "```mermaid\ngraph TD; A[<img src=x onerror=alert(1)>]-->B\n```",
	"```mermaid\"onclick=x\nx\n```", "```x\" onclick=\"y\n```",
	"| <script> | b |\n|:--|--:|\n| `a\\|<b>` | ~~<i>~~ |", "- [ ] <script>\n- [x] [y](javascript:z)",
	"<!-- hidden instructions -->", "<details open ontoggle=alert(1)>",
	"a\u202eb\u2066c\u200bd\ufeffe\u00ad", "&#x202e;&#8238;&lrm;&#0;&#27;",
	"\x1b]8;;https://evil.example\x07x\x1b]8;;\x07", "\x1b[31m<script>\x1b[0m", "\x1b[2J\x1b[H\x07\x9b31m",
	"\x1b[38;5;999999999999m\x1b[38;2;1mx\x1b[38mx\x1b[48;5mx",
	"a,b\n=HYPERLINK(\"https://evil.example\"),<script>\n+cmd|' /C calc'!A0,@x\n", "a,\"b\n<script>\",c\n\"",
	`{"<script>": "</code><script>alert(1)</script>", "\u202e": "\u0000\u001b[31m", "a": [1e999, null, {}]}`,
	"diff --git a/<script> b/x\n--- a\n+++ b\n@@ -1 +1 @@ <b>\n-<i>\n+</span><script>\n",
	"@@ -99999999999999999999 +1 @@\n", "--- <x>\n+++ y\n@@ -1,2 +3 @@\n x\n\\ No newline", "http://", "https://)",
	"http://a.example/)))", "xhttps://a.example",
}

func TestHostile(t *testing.T) {
	for _, name := range []string{"a.md", "a.csv", "a.log", "a.go", "a.json", "a.diff", "a.svg", "a.html", "a",
		"\"><script>.png"} {
		for _, content := range hostile {
			for _, plain := range []bool{false, true} {
				p := render(t, Source{Name: name, URL: "/raw"}, Options{Plain: plain}, content)
				if checkSafe(t, string(p.HTML)); t.Failed() {
					t.Fatalf("%s, %q: %s", name, content, p.HTML)
				}
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, content := range hostile {
		f.Add("a.md", content, int64(0))
		f.Add("a.csv", content, int64(3))
	}
	f.Fuzz(func(t *testing.T, name, content string, offset int64) {
		p := render(t, Source{Name: name, URL: "/raw"}, Options{Offset: offset}, content)
		checkSafe(t, string(p.HTML))
		if p.Next != 0 && p.Next <= p.Offset {
			t.Errorf("got a range from %d to %d of %d bytes", p.Offset, p.Next, p.Size)
		}
	})
}

// The ranges of content, one after the other, are the content.
func TestRanges(t *testing.T) {
	line := strings.Repeat("é", 50) + "\n"
	for name, content := range map[string]string{
		"lines":         strings.Repeat(line, 5000),
		"one long line": strings.Repeat("é", 300_000),
		"mixed":         strings.Repeat("é", 100_000) + "\n" + strings.Repeat(line, 3000) + "end",
	} {
		var got strings.Builder
		n := 0
		for offset := int64(0); ; n++ {
			p := render(t, Source{Name: "a.txt"}, Options{Offset: offset}, content)
			if p.Offset != offset || p.End-p.Offset > Window {
				t.Fatalf("%s: got %d to %d, want a range from %d", name, p.Offset, p.End, offset)
			}
			got.WriteString(strings.TrimSuffix(strings.TrimPrefix(string(p.HTML), `<pre class="text" tabindex="0">`),
				"</pre>\n"))
			if offset = p.Next; offset == 0 {
				break
			}
			if back := render(t, Source{Name: "a.txt"}, Options{Offset: p.Next}, content).Previous; back < 0 || back >= p.Next {
				t.Fatalf("%s: got %d before %d", name, back, p.Next)
			}
		}
		if got.String() != content || n < 3 {
			t.Errorf("%s: %d ranges have %d bytes, want %d", name, n, got.Len(), len(content))
		}
	}
	p := render(t, Source{Name: "a.txt"}, Options{Offset: 1<<62 + 1}, "text\n")
	if p.Offset != 5 || p.Next != 0 {
		t.Errorf("behind the end: got %+v", p)
	}
}

// A zeros is a large file that counts what is read of it.
type large struct {
	size, at, read int64
}

func (l *large) Seek(offset int64, whence int) (int64, error) {
	l.at = map[int]int64{io.SeekStart: 0, io.SeekCurrent: l.at, io.SeekEnd: l.size}[whence] + offset
	return l.at, nil
}

func (l *large) Read(b []byte) (int, error) {
	if l.at >= l.size {
		return 0, io.EOF
	}
	n := int(min(int64(len(b)), l.size-l.at))
	copy(b, bytes.Repeat([]byte("2026-01-02 level=info a line of a log\n"), len(b)/38+1)[l.at%38:])
	l.at, l.read = l.at+int64(n), l.read+int64(n)
	return n, nil
}

func TestLargeFileIsReadInParts(t *testing.T) {
	for _, offset := range []int64{0, 50 << 20} {
		l := &large{size: 100 << 20}
		p, err := Render(Source{Body: l, Name: "build.log"}, Options{Offset: offset})
		if err != nil || p.Next == 0 || len(p.HTML) < Window/2 {
			t.Errorf("at %d: got %d to %d, %v", offset, p.Offset, p.Next, err)
		}
		if l.read > 3*Window {
			t.Errorf("at %d: %d bytes were read, want at most %d", offset, l.read, 3*Window)
		}
	}
}

func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"# A title", `<h2 id="md-a-title">A title</h2>`},
		{"**b** _e_ ~~gone~~ ~one~ `c`",
			"<p><strong>b</strong> <em>e</em> <del>gone</del> <del>one</del> <code>c</code></p>"},
		{
			"[x](https://a.example/?a=1&b=2)",
			`<a href="https://a.example/?a=1&amp;b=2" title="https://a.example/?a=1&amp;b=2" rel="noopener noreferrer nofollow" target="_blank">x</a>`},
		{"[x](#A-Title)", `<a href="#md-a-title">x</a>`},
		{"[x](docs/a.md)", `<span class="target" title="docs/a.md">x</span>`},
		{"see https://a.example/a_b_c).", `>https://a.example/a_b_c</a>).`},
		{"a &lt;b&gt; \\* &amp;", "<p>a &lt;b&gt; * &amp;</p>"},
		{"|a|b|\n|-|:-:|\n|1|`x\\|y`|\n|2|", `<tr><th>a</th><th class="center">b</th></tr>`},
		{"|a|b|\n|-|:-:|\n|1|`x\\|y`|\n|2|", `<td class="center"><code>x|y</code></td>`},
		{"|a|b|\n|-|:-:|\n|1|`x\\|y`|\n|2|", `<tr><td>2</td><td class="center"></td></tr>`},
		{"a\n-", `<h3 id="md-a">a</h3>`},
		{"- [ ] open\n- [x] done", `<li class="task"><input type="checkbox" disabled aria-label="task"> open</li>`},
		{"- [ ] open\n- [x] done", `<li class="task"><input type="checkbox" disabled aria-label="task" checked> done</li>`},
		{"```go\nx < y\n```", `<code class="language-go">x &lt; y`},
		{"```diff\n-a\n+b\n```", `<ol class="lines diff" aria-label="Lines">` + "\n" + `<li class="src del"><code>-a</code></li>`},
		{"\\&gt; &#38;gt; \\&reg; \\\\*a*", "<p>&amp;gt; &amp;gt; &amp;reg; \\<em>a</em></p>"},
		{"[x](http://h/\\&amp;)", `title="http://h/&amp;amp;"`},
		{"# As [said](http://h/p) `in` _it_", `<h2 id="md-as-said-in-it">`},
		{"# Same\n# Same\n# same-1\n# ?\n# !", `<h2 id="md-same">Same</h2>` + "\n" + `<h2 id="md-same-1">Same</h2>` + "\n" +
			`<h2 id="md-same-1-1">same-1</h2>` + "\n<h2>?</h2>\n<h2>!</h2>"},
		{"3. c\n4. d", `<ol start="3">`},
		{"a<br>b  \nc", "a<br>b<br>\nc"},
		{"<div>\nx\n</div>", `<code class="language-xml">&lt;div&gt;`},
		{"![diagram](https://a.example/x.png)", `<span class="muted">image:</span> diagram</a>`},
	} {
		got := string(render(t, Source{Name: "a.md"}, Options{}, c.source).HTML)
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: got %s, want %s", c.source, got, c.want)
		}
	}
	if p := render(t, Source{Name: "a.md"}, Options{}, "```mermaid\ngraph TD\n```"); !p.Diagrams {
		t.Error("the diagram is not reported")
	}
}

func TestForms(t *testing.T) {
	rows := "name,size\n" + strings.Repeat("\"a, \"\"b\"\"\nc\",2\n", maxRows+5)
	for _, c := range []struct {
		name, content string
		want          []string
		note          string
	}{
		{"a.csv", "name;size\na;1\n", []string{`<th scope="col">name</th><th scope="col">size</th>`, "<td>a</td><td>1</td>"},
			""},
		{"a.csv", rows, []string{"<td>a, &#34;b&#34;\nc</td><td>2</td>"}, "only the first 10000 rows"},
		{"a.json", `{"b": [1.50, "x"], "a": {}}`,
			[]string{`<details open><summary>{ <span class="muted">2 members</span> }</summary>`,
				`<span class="key">b</span>: [`, `<span class="num">1.50</span>`, `<span class="key">a</span>: {}`}, ""},
		{"a.json", `{"a": [1}`, []string{`<pre class="code"`}, "not valid JSON"},
		{"a.json", strings.Repeat("[", 200) + strings.Repeat("]", 200), []string{`<pre class="code"`},
			"too many values or levels"},
		{"a.json", "[" + strings.Repeat("1,", maxNodes) + "1]", nil, "too many values or levels"},
		{"a.patch", "--- a\n+++ b\n@@ -3,2 +4,2 @@\n c\n-x\n+y\n",
			[]string{`<li class="src ctx" data-old="3" data-new="4"><code> c`, `<li class="src del" data-old="4"><code>-x`,
				`<li class="src add" data-new="5"><code>+y`}, ""},
		{"a.log", "\x1b[1;31mno\x1b[0m yes\x1b[2K", []string{`<span class="fg1 bold">no</span> yes\x1b[2K`}, ""},
		{"a.log", "\x1b[31m\x1b[38;5;196mx\x1b[38;2;1;4;3my\x1b[48:5:4;97;44mz",
			[]string{`xy<span class="fg15 bg4">z</span>`}, ""},
		{"a.log", "\x1b[33mw\x1b[4:3mx\x1b[4:0my\x1b[;32mz",
			[]string{
				`<span class="fg3">w</span><span class="fg3 underline">x</span><span class="fg3">y</span><span class="fg2">z</span>`}, ""},
	} {
		p := render(t, Source{Name: c.name}, Options{}, c.content)
		for _, want := range c.want {
			if !strings.Contains(string(p.HTML), want) {
				t.Errorf("%s %.40q: got %.600s, want %s", c.name, c.content, p.HTML, want)
			}
		}
		if notes := fmt.Sprint(p.Notes); c.note == "" && len(p.Notes) > 0 || !strings.Contains(notes, c.note) {
			t.Errorf("%s %.40q: got the notes %s, want %q", c.name, c.content, notes, c.note)
		}
		checkSafe(t, string(p.HTML))
	}
}

func TestImage(t *testing.T) {
	png := "\x89PNG\r\n\x1a\nrest"
	if p := render(t, Source{Name: "a.png", URL: "/raw"}, Options{}, png); !strings.Contains(string(p.HTML),
		`<img src="/raw" alt="a.png"`) || p.MediaType != "image/png" {
		t.Errorf("got %+v", p)
	}
	if p := render(t, Source{Name: "a.png"}, Options{}, png); !strings.Contains(string(p.HTML),
		`src="data:image/png;base64,iVBORw0KGgpyZXN0"`) {
		t.Errorf("embedded: got %s", p.HTML)
	}
	if p := render(t, Source{Name: "a.png"}, Options{}, png+strings.Repeat("x", maxEmbed)); p.HTML != "" ||
		len(p.Notes) == 0 {
		t.Errorf("large: got %.80s, %v", p.HTML, p.Notes)
	}
}

func TestChanges(t *testing.T) {
	p := Changes(Version{"v1", "a.go", "", []byte("a\nb\nc\n")}, Version{"v2", "a.go", "", []byte("a\nB\nc\n")}, Layout{})
	for _, want := range []string{` data-old="2"><code>-b`, ` data-new="2"><code>+B`, "--- v1", "+++ v2",
		` data-language="go">`} {
		if !strings.Contains(string(p.HTML), want) {
			t.Errorf("got %s, want %s", p.HTML, want)
		}
	}
	checkSafe(t, string(p.HTML))
	for note, from := range map[string]string{"equal": "a", "not text": "a\x00",
		"1024 KB": strings.Repeat("b", richSize+1)} {
		p := Changes(Version{Text: []byte(from)}, Version{Text: []byte("a")}, Layout{})
		if p.HTML != "" || !strings.Contains(fmt.Sprint(p.Notes), note) {
			t.Errorf("got %v, want %q", p.Notes, note)
		}
	}
}

// Content that parsers take long for is rendered without reading it again and
// again: the time for twice the input is not four times as long.
func BenchmarkPathological(b *testing.B) {
	for name, unit := range map[string]string{
		"brackets": "[", "emphasis": "*a _b ", "quotes": ">", "backticks": "` `` ``` ", "links": "[a](", "images": "![",
		"lists": "- ", "entities": "&", "angles": "<a ", "strikes": "~a ", "tables": "|", "html": "</",
		"comments": "<!--", "comment lines": "a <!--\n", "instructions": "a <?\n", "cdata": "a <![CDATA[\n",
		"attributes": "<a b='\n", "quote lines": strings.Repeat(">", 60) +
			"\n", "references": "[a][b]\n", "definitions": "[a]: b\n\n[c]\n", "reference lines": "[a\n",
		"emphasis lines": "*a\n_b\n", "ticks lines": "`a\n``b\n", "autolinks": "<https:", "titles": "[a](b 'c\n",
		"indents": "- a\n  ", "nested": "> - ", "bangs": "![[]()", "parens": "[a](((((((((b", "tabs": "\t>", "stars": "**a ",
		"one": "a", "entity": "&a",
	} {
		for _, size := range []int{128 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				content := strings.Repeat(unit, size/len(unit))
				for b.Loop() {
					Render(Source{Body: strings.NewReader(content), Name: "a.md"}, Options{})
				}
			})
		}
	}
}

// A diff is shown in parts, of one file or of several, with the class of each line.
func TestDiffLines(t *testing.T) {
	class := regexp.MustCompile(`<li class="src (\w+)"(?: data-old="(\d+)")?(?: data-new="(\d+)")?><code>(.*)</code></li>`)
	for _, tt := range []struct {
		name, diff string
		part       bool
		want       string
	}{
		{"two files", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n--- c\n+++ d\n@@ -7 +8 @@\n-u\n+v\n", false,
			"head - - --- a|head - - +++ b|hunk - - @@ -1 +1 @@|del 1 - -x|add - 1 +y|head - - --- c|head - - +++ d|hunk - - " +
				"@@ -7 +8 @@|del 7 - -u|add - 8 +v"},
		{"removed and added lines like names", "@@ -1,2 +1,2 @@\n--- x\n+++ y\n z\n", false,
			"hunk - - @@ -1,2 +1,2 @@|del 1 - --- x|add - 1 +++ y|ctx 2 2  z"},
		{"more lines than the head says", "@@ -1 +1 @@\n-x\n-y\n+z\n", false,
			"hunk - - @@ -1 +1 @@|del 1 - -x|del 2 - -y|add - 1 +z"},
		{"a part", "+x\n-y\n z\n\\ No newline\n@@ -3 +4 @@\n+u\n", true,
			"add - - +x|del - - -y|ctx - -  z|head - - \\ No newline|hunk - - @@ -3 +4 @@|add - 4 +u"},
		{"a part with another file", "+x\n--- c\n+++ d\n", true, "add - - +x|head - - --- c|head - - +++ d"},
	} {
		var got []string
		lines := Layout{}.HTML([]File{{Lines: linesOfDiff([]byte(tt.diff), tt.part)}})
		for _, line := range class.FindAllStringSubmatch(string(lines), -1) {
			got = append(got, fmt.Sprintf("%s %s %s %s", line[1], cmp.Or(line[2], "-"), cmp.Or(line[3], "-"),
				html.UnescapeString(line[4])))
		}
		if text := strings.Join(got, "|"); text != tt.want {
			t.Errorf("%s: got\n%s, want\n%s", tt.name, text, tt.want)
		}
	}
	long := "diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,9000 @@\n" +
		strings.Repeat("+a line of a file that is long\n", 9000)
	first := render(t, Source{Name: "x.diff"}, Options{}, long)
	if second := string(render(t, Source{Name: "x.diff"}, Options{Offset: first.Next}, long).HTML); first.Next == 0 ||
		strings.Count(second, `class="src add"`) < 1000 {
		t.Errorf("the second part, from %d, has %d added lines", first.Next, strings.Count(second, `class="src add"`))
	}
}

// Marks of lists and quotes that are nested on one line take the parser quadratic time:
// such a text is not rendered, and ordinary ones are.
func TestNested(t *testing.T) {
	for _, mark := range []string{"+ ", "- ", "* ", "> ", ">", "1. ", "12) ", "- 1. > ", " +\t"} {
		if !costly([]byte("text\n" + strings.Repeat(mark, 40000) + "x\n")) {
			t.Errorf("%q: 40,000 nested marks are rendered", mark)
		}
		if costly([]byte(strings.Repeat(strings.Repeat(mark, 8)+"x\n\n", 5000))) {
			t.Errorf("%q: 8 nested marks are not rendered", mark)
		}
	}
	if costly([]byte(strings.Repeat("-", 20000) + "\n" + strings.Repeat("a-b + c. ", 5000))) {
		t.Error("a ruler and a long line are not rendered")
	}
}
