package preview

import (
	"cmp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// Title returns Markdown that is a title as plain text: the text without marks, and of links
// the text only. A name such as __init__ keeps its underscores.
func Title(title string) string {
	source := []byte(title)
	if costly(source) {
		return title
	}
	var b strings.Builder
	_ = ast.Walk(newParser().Parse(text.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Emphasis:
			if t, ok := n.FirstChild().(*ast.Text); ok && source[t.Segment.Start-1] == '_' {
				b.WriteString(strings.Repeat("_", n.Level))
			}
		case *ast.CodeBlock, *ast.HTMLBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write((&markdown{source: source}).lines(n))
			}
		case *ast.Text:
			switch value := n.Segment.Value(source); {
			case !entering:
			case n.Parent().Kind() == ast.KindCodeSpan:
				b.Write(value)
			default:
				b.Write(unescape(value))
			}
			if entering && (n.SoftLineBreak() || n.HardLineBreak()) {
				b.WriteByte(' ')
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		case *ast.RawHTML:
			for i := range n.Segments.Len() {
				if part := n.Segments.At(i); entering {
					b.Write(part.Value(source))
				}
			}
		default:
			if n.Type() == ast.TypeBlock && !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return cmp.Or(strings.TrimSpace(b.String()), title)
}
