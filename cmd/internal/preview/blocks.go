package preview

import (
	"bytes"
	"errors"
	"html/template"
	"slices"
	"strconv"
	"strings"

	compare "github.com/rogpeppe/go-internal/diff"
	"github.com/yuin/goldmark/text"

	"github.com/agent-handoff/handoff/internal/tool/diff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// IsMarkdown reports whether all content of a source is shown as Markdown.
func IsMarkdown(s Source, content []byte) bool {
	kind, _ := kindOf(s, piece{size: int64(len(content)), head: content[:min(headSize, len(content))], text: content})
	return kind == Markdown
}

// MarkdownChanges returns Markdown with the blocks marked that an earlier text does not have, and
// between them the blocks of that text that are gone. A block is a paragraph, list, table or
// other element that is in no other one. Otherwise there is only a note.
func MarkdownChanges(from, to []byte) Preview {
	p := Preview{Kind: Markdown, Size: int64(len(to)), Previous: -1}
	before, err := blocksOf(from)
	after, other := blocksOf(to)
	if err = errors.Join(err, other); err != nil {
		p.Notes = []string{err.Error()}
		return p
	}
	if slices.Equal(before, after) {
		p.Notes = []string{"the contents are rendered alike"}
	}
	p.Added, p.Removed, _ = Counts(from, to)
	var b strings.Builder
	shown := 0 // of after
	show := func(until int) {
		for ; shown < until; shown++ {
			b.WriteString(after[shown])
		}
	}
	changes := compare.Diff("", quoted(before), "", quoted(after))
	for l := range diff.Lines(string(changes), false) {
		switch l.Kind {
		case diff.Context:
			show(l.New)
		case diff.Removed:
			b.WriteString(`<del class="block">` + before[l.Old-1] + "</del>\n")
		case diff.Added:
			show(l.New - 1)
			b.WriteString(`<ins class="block">` + after[shown] + "</ins>\n")
			shown++
		}
	}
	show(len(after))
	p.HTML = template.HTML(`<div class="markdown">` + "\n" + b.String() + "</div>\n")
	return p
}

// blocksOf returns the HTML of each block of Markdown, without the IDs of headings.
func blocksOf(source []byte) (list []string, err error) {
	source = printable.Text(bytes.TrimPrefix(source, byteOrderMark))
	if len(source) > docSize || costly(source) {
		return nil, errors.New("a revision is too large, or has too many marks in a line or paragraph, to be rendered")
	}
	for n := newParser().Parse(text.NewReader(source)).FirstChild(); n != nil; n = n.NextSibling() {
		m := markdown{source: source}
		m.node(n)
		list = append(list, m.out.String())
	}
	return list, nil
}

// quoted returns texts as lines.
func quoted(list []string) []byte {
	var b []byte
	for _, s := range list {
		b = append(strconv.AppendQuote(b, s), '\n')
	}
	return b
}
