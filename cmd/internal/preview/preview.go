// Package preview renders content that others wrote as HTML that is safe to show.
//
// The content decides how it is shown: an image, JSON or a diff is recognized by
// its bytes. The name and the recorded media type only choose between forms of
// text, such as Markdown or a programming language.
//
// The HTML consists of tags that this package writes, with classes and without
// styles, handlers or scripts. Everything that comes from the content is escaped:
// HTML and SVG are shown as source, links lead to web and mail addresses only, and
// nothing is loaded from another host. Control characters and changes of text
// direction are shown as escapes.
//
// Memory is bounded: of large content, one range is read and rendered at a time.
package preview

import (
	"html/template"
	"io"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// The limits of what is rendered at once.
const (
	Window   = 128 << 10 // bytes of a range
	richSize = 1 << 20   // bytes of content that is rendered in a form other than text
	docSize  = 512 << 10 // bytes of Markdown that is rendered
	maxNodes = 20_000    // values of JSON
	maxRows  = 10_000    // rows of a table
	maxDepth = 64        // nested elements
	maxImage = 20 << 20  // bytes of an image that is shown
	maxEmbed = 2 << 20   // bytes of an image that becomes part of a page
)

// A Kind is a form in which content is shown.
type Kind string

// The kinds.
const (
	Empty    Kind = "empty"
	Binary   Kind = "binary" // not shown
	Image    Kind = "image"
	Markdown Kind = "markdown"
	Table    Kind = "table"
	JSON     Kind = "json"
	Diff     Kind = "diff"
	Code     Kind = "code"
	Log      Kind = "log" // text with colors
	Text     Kind = "text"
)

// A Source is content to show.
type Source struct {
	Body      io.ReadSeeker
	Name      string // of its file, if it has one
	MediaType string // as recorded, or ""
	URL       string // where the page finds the bytes of an image; "" embeds a small image
}

// Options change how content is shown.
type Options struct {
	Offset int64 // of the first byte of the range to show
	Plain  bool  // as text, even if there is another form
	Split  bool  // the two texts of a diff are side by side

	// Anchor is a part of the IDs of headings: on a page with several contents, each has
	// its own.
	Anchor string
}

// A Preview is content as HTML.
type Preview struct {
	Kind      Kind
	MediaType string // of an image
	Language  string // of code, or of some lines of a diff, as highlight.js names it
	HTML      template.HTML
	Size      int64 // of the content, in bytes

	// Offset, End, Next and Previous are positions in bytes. What is shown is from
	// Offset to End. Next is 0 at the end, Previous is -1 at the beginning.
	Offset, End, Next, Previous int64

	Plain    bool // shown as text although there is another form
	Rich     bool // there is another form than text
	Split    bool // the two texts of a diff are side by side
	Diagrams bool // there are Mermaid diagrams, which a script can draw
	Notes    []string

	Files          int // whose changes a diff shows
	Added, Removed int // lines, by the diff or by what it shows of it
}

// Render renders the content of a source, or a range of it. Its errors are those
// of reading.
func Render(s Source, o Options) (Preview, error) {
	r, err := read(s.Body, o.Offset)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Size: r.size, Offset: r.offset, End: r.offset + int64(len(r.text)), Previous: r.previous()}
	if p.End < p.Size {
		p.Next = p.End
	}
	if p.Kind, p.MediaType = kindOf(s, r); p.Kind == Image {
		p.Next, p.Previous = 0, -1
		return p, p.image(s)
	}
	if p.Kind == Empty || p.Kind == Binary {
		p.Next, p.Previous = 0, -1
		return p, nil
	}
	if p.Rich = p.Kind != Text && p.Kind != Code; p.Rich && o.Plain {
		p.Plain = true
	}
	if p.Plain || !p.rich(s, r, o) {
		p.text(s, r)
	}
	return p, nil
}

// rich shows text in its own form, and reports whether that was possible.
func (p *Preview) rich(s Source, r piece, o Options) bool {
	switch p.Kind {
	case Diff:
		p.diff(linesOfDiff(r.text, r.offset > 0), "", Layout{Split: o.Split})
		return true
	case Log:
		p.HTML = pre("log", colors(r.text))
		return true
	case Markdown, JSON, Table:
	default:
		return false
	}
	all, ok := r.all(s.Body)
	if p.Kind == Markdown && p.Size > docSize {
		ok = false
	}
	switch {
	case !ok && p.Kind != Table:
		p.Notes = append(p.Notes, "too large to be rendered as "+string(p.Kind)+"; it is shown as text")
		return false
	case !ok:
		all = r.text // a table can be shown in parts
	default:
		p.Offset, p.End, p.Next, p.Previous = 0, p.Size, 0, -1
	}
	var err error
	switch p.Kind {
	case Markdown:
		p.HTML, p.Diagrams, err = markdownHTML(all, o.Anchor)
	case JSON:
		p.HTML, err = jsonHTML(all)
	case Table:
		p.HTML, err = p.table(all)
	}
	if err != nil {
		p.Notes = append(p.Notes, err.Error())
		p.Offset, p.End, p.Previous = r.offset, r.offset+int64(len(r.text)), r.previous()
		if p.End < p.Size {
			p.Next = p.End
		}
	}
	return err == nil
}

// text shows a range as text or code.
func (p *Preview) text(s Source, r piece) {
	if p.Language = language(s, r.head); p.Language == "" || p.Kind == Log {
		p.HTML = pre("text", escape(printable.Text(r.text)))
		return
	}
	if p.Kind == Text {
		p.Kind = Code
	}
	p.HTML = codeHTML(p.Language, printable.Text(r.text))
}

// escape returns text as HTML.
func escape[T string | []byte](text T) string { return template.HTMLEscapeString(string(text)) }

// pre returns a block of preformatted HTML. It can be scrolled with the keyboard.
func pre(class, content string) template.HTML {
	return template.HTML(`<pre class="` + class + `" tabindex="0">` + content + "</pre>\n")
}

// codeHTML returns code for highlight.js. The language is one of languages or was
// checked to be a word.
func codeHTML(language string, text []byte) template.HTML {
	var b strings.Builder
	b.WriteString(`<pre class="code" tabindex="0"><code`)
	if language != "" {
		b.WriteString(` class="language-` + language + `"`)
	}
	b.WriteString(">" + escape(text) + "</code></pre>\n")
	return template.HTML(b.String())
}
