package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/agent-handoff/handoff/cmd/internal/preview"
)

// previewStyle is the style sheet of pages with content.
const previewStyle = "preview.css"

// preview shows content, or the range of it that a request asks for, and gives
// the page what that needs.
func (p *page) preview(r *http.Request, src preview.Source) (preview.Preview, error) {
	q := r.URL.Query()
	offset, _ := strconv.ParseInt(q.Get("offset"), 10, 64)
	shown, err := preview.Render(src, preview.Options{Offset: offset, Plain: q.Has("plain"), Split: IsSplit(q)})
	if err == nil {
		p.scripts(shown)
	}
	return shown, err
}

// scripts adds the scripts that enhance a preview.
func (p *page) scripts(shown preview.Preview) {
	var names []string
	switch shown.Kind {
	case preview.Code, preview.Markdown, preview.JSON:
		names = []string{"vendor/highlight.min.js", "preview.js"}
	case preview.Table:
		names = []string{"preview.js"}
	case preview.Diff:
		if shown.Language != "" {
			names = append(names, "vendor/highlight.min.js")
		}
		if shown.Language != "" || shown.Files > 1 {
			names = append(names, "preview.js")
		}
	}
	for _, name := range names {
		if !slices.Contains(p.Scripts, name) {
			p.Scripts = append(p.Scripts, name)
		}
	}
}
