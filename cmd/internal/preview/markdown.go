package preview

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// markdownHTML returns GitHub Flavored Markdown as HTML, and whether it has Mermaid
// diagrams. The error is a reason not to render it.
//
// The tree of the parser is written with the tags below and no others, so there is
// nothing to sanitize: a tag in the text is text.
func markdownHTML(source []byte, part string) (html template.HTML, diagrams bool, err error) {
	source = printable.Text(bytes.TrimPrefix(source, byteOrderMark))
	if costly(source) {
		return "", false,
			errors.New("the Markdown has too many marks in one line or paragraph to be rendered; it is shown as text")
	}
	m := markdown{source: source, anchor: anchor + part, ids: map[string]int{}}
	m.out.WriteString(`<div class="markdown">` + "\n")
	m.children(newParser().Parse(text.NewReader(source)))
	m.out.WriteString("</div>\n")
	return template.HTML(m.out.String()), m.diagrams, nil
}

// The parser takes quadratic time for some texts: for each of many marks it reads
// the rest of the line or paragraph. These limits are of the products of both, and
// correspond to less than half a second.
const (
	maxLineWork  = 50 << 20
	maxBlockWork = 1 << 30
)

// nested matches the marks of lists and quotes that a line starts with.
var nested = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])[ \t]))+`)
})

// costly reports whether a text has lines or paragraphs that the parser may take
// long for.
func costly(source []byte) bool {
	lineWork, blockWork, marks, size := 0, 0, 0, 0
	for line := range bytes.Lines(source) {
		if len(bytes.TrimSpace(line)) == 0 {
			marks, size = 0, 0
			continue
		}
		n := 0
		for _, c := range line {
			if strings.IndexByte("[]()<>*_~!&`:", c) >= 0 {
				n++
			}
		}
		n += len(nested().Find(line)) / 2
		lineWork += n * len(line)
		blockWork -= marks * size
		marks, size = marks+n, size+len(line)
		blockWork += marks * size
		if lineWork > maxLineWork || blockWork > maxBlockWork {
			return true
		}
	}
	return false
}

// A markdown writes the tree of a document.
type markdown struct {
	source   []byte
	out      strings.Builder
	depth    int
	inLink   bool
	skip     int // where the text after the mark of a task starts
	diagrams bool
	anchor   string         // before the IDs of headings
	ids      map[string]int // how many headings have had an ID; nil for none
}

// simple are the elements without attributes.
var simple = map[ast.NodeKind]string{
	ast.KindParagraph: "p", ast.KindBlockquote: "blockquote", ast.KindListItem: "li",
	kindTableHead: "thead", kindTableBody: "tbody", kindTableRow: "tr", kindStrike: "del",
}

func (m *markdown) children(n ast.Node) {
	if m.depth++; m.depth > maxDepth {
		m.out.WriteString("…")
	} else {
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			c = m.node(c)
		}
	}
	m.depth--
}

// element writes an element around the children of a node.
func (m *markdown) element(tag, attributes string, n ast.Node) {
	m.out.WriteString("<" + tag + attributes + ">")
	m.children(n)
	m.out.WriteString("</" + tag + ">")
	if n.Type() == ast.TypeBlock && n.Kind() != kindCell {
		m.out.WriteByte('\n')
	}
}

// node writes a node and returns the last one it has written, because adjacent
// texts are written together.
func (m *markdown) node(n ast.Node) ast.Node {
	if tag := simple[n.Kind()]; tag != "" {
		if n.Kind() == ast.KindListItem {
			m.item(n)
			return n
		}
		m.element(tag, "", n)
		return n
	}
	switch n := n.(type) {
	case *ast.Text:
		return m.texts(n)
	case *ast.Heading:
		m.heading(n)
	case *ast.List:
		m.list(n)
	case *ast.ThematicBreak:
		m.out.WriteString("<hr>\n")
	case *ast.CodeBlock:
		m.out.WriteString(string(codeHTML("", m.lines(n))))
	case *ast.FencedCodeBlock:
		m.fence(n)
	case *ast.HTMLBlock:
		source := m.lines(n)
		if n.HasClosure() {
			source = append(source, n.ClosureLine.Value(m.source)...)
		}
		m.out.WriteString(string(codeHTML("xml", source)))
	case *table:
		m.out.WriteString(`<div class="scroll" tabindex="0">`)
		m.element("table", "", n)
		m.out.WriteString("</div>\n")
	case *cell:
		m.element(n.tag, n.class(), n)
	default:
		m.inline(n)
	}
	return n
}

func (m *markdown) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Emphasis:
		tag := "em"
		if n.Level > 1 {
			tag = "strong"
		}
		m.element(tag, "", n)
	case *ast.CodeSpan:
		m.codeSpan(n)
	case *ast.Link:
		m.link(resolve(n.Destination), func() { m.children(n) })
	case *ast.Image: // is not loaded: it may be on another host
		m.link(resolve(n.Destination), func() {
			m.out.WriteString(`<span class="muted">image:</span> `)
			m.children(n)
		})
	case *ast.AutoLink:
		label := string(n.Label(m.source))
		m.link(string(n.URL(m.source)), func() { m.out.WriteString(escape(label)) })
	case *ast.RawHTML:
		m.rawHTML(n)
	case *ast.String:
		m.out.WriteString(escape(n.Value))
	default:
		m.children(n)
	}
}

// lines returns the text of a block without markup.
func (m *markdown) lines(n ast.Node) []byte {
	var b []byte
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b = append(b, line.Value(m.source)...)
	}
	return b
}

// heading writes a heading one level lower, because the page has the first.
func (m *markdown) heading(n *ast.Heading) {
	attributes := ""
	if m.ids != nil {
		if id := m.unused(slug(m.plain(n))); id != "" {
			attributes = ` id="` + escape(m.anchor+id) + `"`
		}
	}
	m.element(fmt.Sprintf("h%d", min(n.Level+1, 6)), attributes, n)
}

// plain returns the text of a heading without markup.
func (m *markdown) plain(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.WriteString(resolve(t.Segment.Value(m.source)))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// unused returns the ID, with a number if another heading has it: as GitHub does.
func (m *markdown) unused(id string) string {
	unused := id
	for id != "" && m.ids[unused] > 0 {
		unused = fmt.Sprintf("%s-%d", id, m.ids[id])
		m.ids[id]++
	}
	m.ids[unused]++
	return unused
}

// anchor precedes the IDs of headings, so that they can't be those of the page.
const anchor = "md-"

// slug returns the ID of a heading as GitHub forms it.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

func (m *markdown) list(n *ast.List) {
	tag, attributes := "ul", ""
	if n.IsOrdered() {
		if tag = "ol"; n.Start != 1 {
			attributes = fmt.Sprintf(` start="%d"`, n.Start)
		}
	}
	m.element(tag, attributes, n)
}

// item writes an item of a list, and the box of a task.
func (m *markdown) item(n ast.Node) {
	first := n.FirstChild()
	if first == nil || first.Type() != ast.TypeBlock || first.Lines().Len() == 0 {
		m.element("li", "", n)
		return
	}
	line := first.Lines().At(0)
	state, is := map[string]string{"[ ] ": "", "[x] ": " checked",
		"[X] ": " checked"}[string(line.Value(m.source)[:min(4, line.Len())])]
	if !is {
		m.element("li", "", n)
		return
	}
	m.skip = line.Start + 4
	m.out.WriteString(`<li class="task"><input type="checkbox" disabled aria-label="task"` + state + "> ")
	m.children(n)
	m.out.WriteString("</li>\n")
}

func (m *markdown) fence(n *ast.FencedCodeBlock) {
	language := strings.ToLower(string(n.Language(m.source)))
	if strings.ContainsFunc(language, func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' }) {
		language = ""
	}
	code := m.lines(n)
	switch language {
	case "mermaid":
		m.diagrams = true
		m.out.WriteString(`<figure class="diagram" data-diagram><pre tabindex="0"><code>` + escape(code) +
			"</code></pre></figure>\n")
	case "diff", "patch":
		m.out.WriteString(string(Layout{}.HTML([]File{{Lines: linesOfDiff(code, true)}})))
	default:
		m.out.WriteString(string(codeHTML(language, code)))
	}
}

func (m *markdown) codeSpan(n *ast.CodeSpan) {
	var code []byte
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code = append(code, t.Segment.Value(m.source)...)
		}
	}
	code = bytes.ReplaceAll(code, []byte("\n"), []byte(" "))
	if inTable(n) {
		code = bytes.ReplaceAll(code, []byte(`\|`), []byte("|"))
	}
	m.out.WriteString("<code>" + escape(code) + "</code>")
}

func (m *markdown) rawHTML(n *ast.RawHTML) {
	var source []byte
	for i := range n.Segments.Len() {
		part := n.Segments.At(i)
		source = append(source, part.Value(m.source)...)
	}
	if tag := strings.ToLower(strings.NewReplacer(" ", "", "/", "").Replace(string(source))); tag == "<br>" {
		m.out.WriteString("<br>")
		return
	}
	m.out.WriteString(`<code class="html">` + escape(source) + "</code>")
}

// escaped matches an escape or an entity (CommonMark 0.31.2, 2.4 and 2.5).
var escaped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\[[:punct:]]|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});`)
})

// unescape returns what a text with escapes and entities means.
func unescape(text []byte) []byte {
	return escaped().ReplaceAllFunc(text, func(found []byte) []byte {
		if found[0] == '\\' {
			return found[1:]
		}
		return util.ResolveEntityNames(util.ResolveNumericReferences(found))
	})
}

// resolve returns the meaning of a text as one line.
func resolve(text []byte) string { return printable.Line(string(unescape(text))) }

// webLink returns a destination that a page may link to, "" for all others: a file
// of the author, a script, or data.
func (m *markdown) webLink(destination string) string {
	if fragment, ok := strings.CutPrefix(destination, "#"); ok {
		return "#" + m.anchor + url.PathEscape(slug(fragment))
	}
	u, err := url.Parse(destination)
	if err != nil {
		return ""
	}
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return u.String()
	case u.Scheme == "mailto" && u.Opaque != "":
		return u.String()
	}
	return ""
}

// link writes a link if the destination permits that. Its title shows where it
// leads, which its text can contradict.
func (m *markdown) link(destination string, content func()) {
	to := m.webLink(destination)
	if m.inLink {
		to = ""
	}
	switch {
	case to == "":
		m.out.WriteString(`<span class="target" title="` + escape(destination) + `">`)
		content()
		m.out.WriteString("</span>")
		return
	case to[0] == '#':
		m.out.WriteString(`<a href="` + escape(to) + `">`)
	default:
		m.out.WriteString(`<a href="` + escape(to) + `" title="` + escape(to) +
			`" rel="noopener noreferrer nofollow" target="_blank">`)
	}
	m.inLink = true
	content()
	m.inLink = false
	m.out.WriteString("</a>")
}

// texts writes adjacent texts, whose parts an address or an escape can consist of.
func (m *markdown) texts(first *ast.Text) ast.Node {
	var joined []byte
	last := first
	for n := first; ; {
		value := n.Segment.Value(m.source)
		if n.Segment.Start < m.skip {
			value = value[min(len(value), m.skip-n.Segment.Start):]
		}
		joined = append(joined, value...)
		last = n
		next, ok := n.NextSibling().(*ast.Text)
		if n.SoftLineBreak() || n.HardLineBreak() || !ok {
			break
		}
		n = next
	}
	m.addresses(string(printable.Text(unescape(joined))))
	if last.HardLineBreak() {
		m.out.WriteString("<br>")
	}
	if last.HardLineBreak() || last.SoftLineBreak() {
		m.out.WriteByte('\n')
	}
	return last
}

// addresses writes text with links for the web addresses in it.
func (m *markdown) addresses(text string) {
	for !m.inLink {
		at := strings.Index(text, "http")
		if at < 0 {
			break
		}
		end := at + addressLength(text[at:])
		if end == at || at > 0 && (unicode.IsLetter(rune(text[at-1])) || unicode.IsDigit(rune(text[at-1]))) {
			m.out.WriteString(escape(text[:at+4]))
			text = text[at+4:]
			continue
		}
		m.out.WriteString(escape(text[:at]))
		address := text[at:end]
		m.link(address, func() { m.out.WriteString(escape(address)) })
		text = text[end:]
	}
	m.out.WriteString(escape(text))
}

// addressLength returns the length of the web address that text starts with, 0
// for none. It ends before punctuation that ends a sentence.
func addressLength(text string) int {
	if !strings.HasPrefix(text, "http://") && !strings.HasPrefix(text, "https://") {
		return 0
	}
	end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune("<>\"`", r) })
	if end < 0 {
		end = len(text)
	}
	address := text[:end]
	for {
		last := address[len(address)-1]
		if !strings.ContainsRune("?!.,:*_~'\"", rune(last)) &&
			!(last == ')' && strings.Count(address, ")") > strings.Count(address, "(")) {
			break
		}
		address = address[:len(address)-1]
	}
	if address == "http" || strings.HasSuffix(address, "//") || strings.HasSuffix(address, ":/") {
		return 0
	}
	return len(address)
}

// Message returns the Markdown of a message as HTML, or as text if it is costly to
// render.
func Message(text string) template.HTML {
	html, _, err := markdownHTML([]byte(text), "")
	if err != nil {
		return pre("text", escape(printable.Text([]byte(text))))
	}
	return html
}

// Plain returns the beginning of a text as HTML, and how many bytes are left out.
func Plain(text string, most int) (html template.HTML, left int) {
	part := []byte(text)
	if len(part) > most {
		part = complete(part[:most])
	}
	return pre("text", escape(printable.Text(part))), len(text) - len(part)
}
