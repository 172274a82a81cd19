package web

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A mark shows the notices with one code in a row.
type mark struct {
	Code  handoff.NoticeCode
	Name  string
	Class string
	Texts string
}

// marks returns a mark for each code of notices, the worst first.
func marks(list []handoff.Notice) (marks []mark) {
	for _, n := range list {
		text := printable.Line(n.Text)
		if i := slices.IndexFunc(marks, func(m mark) bool { return m.Code == n.Code }); i >= 0 {
			marks[i].Texts += "; " + text
			continue
		}
		marks = append(marks, mark{n.Code, noticeName(n.Code), noticeClass(n), text})
	}
	return marks
}

// noticeName returns a code as words.
func noticeName(code handoff.NoticeCode) string { return strings.ReplaceAll(string(code), "_", " ") }

// noticeClass returns the class of what shows a notice: its severity.
func noticeClass(n handoff.Notice) string { return "n-" + string(n.Severity) }

var artifactID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bart_[0-9A-Z]{26}\b`) })

// linked returns the text of a notice with a link at each ID of an artifact.
func linked(n handoff.Notice) template.HTML {
	text := template.HTMLEscapeString(printable.Line(n.Text))
	return template.HTML(artifactID().ReplaceAllStringFunc(text, func(id string) string {
		if !handoff.IsArtifactID(id) {
			return id
		}
		return `<a href="` + artifactURL(id) + `"><code>` + shortID(id) + `</code></a>`
	}))
}
