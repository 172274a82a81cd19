package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io"
	"path"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
)

// exportLayout is the layout of an exported page.
const exportLayout = "export"

// exportPolicy is the policy of an exported page: it has one style, with this
// digest, images as a part of it, and nothing else.
const exportPolicy = "default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'"

// exportLimit is how many outputs an exported page has the content of.
const exportLimit = 200

// exported is what an exported page shows.
type exported struct {
	page
	Root     string
	Policy   string
	Style    template.CSS
	Contents []exportedContent
	Left     int // outputs without their content
	At       time.Time
}

// An exportedContent is the content of an output.
type exportedContent struct {
	ID      string // of its artifact, or ""
	Name    string
	Preview preview.Preview
	Problem string
}

// Export writes a session, with the content of its outputs, as one page without
// scripts that loads nothing. Kinds: those of Show.
func Export(ctx context.Context, src Source, now time.Time, session string, w io.Writer) error {
	clock := func() time.Time { return now }
	s := &Server{o: Options{Source: src, Now: clock}, look: NewLook(clock)}
	p, err := s.sessionPage(ctx, session)
	if err != nil {
		return err
	}
	x := exported{page: p, Root: path.Base(src.Root), At: now}
	v := p.Data.(sessionPage)
	v.Timeline = timeline{} // its bars have links
	p.Data, x.page.Data = v, v
	s.addContents(ctx, &x, v)
	x.Style = template.CSS(string(s.look.assets["app.css"].content) + string(s.look.assets["preview.css"].content))
	x.Policy = fmt.Sprintf(exportPolicy, digest([]byte(x.Style)))
	functions := s.functions()
	included := map[string]bool{}
	for _, c := range x.Contents {
		included[c.ID] = true
	}
	addExported(functions, included)
	templates, err := parseTemplates(functions)
	if err != nil {
		return err
	}
	t, err := templates["session"].ParseFS(templateFiles, "templates/"+exportLayout+".html")
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, exportLayout+".html", x)
}

// addExported replaces the functions whose results need a server. A link leads to
// the content on the page, or to a note that it is not a part of it.
func addExported(functions template.FuncMap, included map[string]bool) {
	const elsewhere = "#elsewhere"
	none := func(...string) string { return elsewhere }
	functions["artifactURL"] = func(id string) string {
		if included[id] {
			return "#" + id
		}
		return elsewhere
	}
	for _, name := range []string{"sessionURL", "channelURL", "issueURL", "threadURL", "graphURL", "chainURL",
		"agentURL"} {
		functions[name] = func(string) string { return elsewhere }
	}
	functions["fileURL"] = none
	functions["ago"] = exactTime
}

func exactTime(t time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.UTC().Format(time.RFC3339),
		t.UTC().Format("2006-01-02 15:04 UTC")))
}

// addContents adds the content of the outputs and artifacts of a session.
func (s *Server) addContents(ctx context.Context, x *exported, v sessionPage) {
	add := func(c exportedContent, show func(*exportedContent) error) {
		if len(x.Contents) == exportLimit {
			x.Left++
			return
		}
		if err := show(&c); err != nil {
			c.Problem = err.Error()
		}
		x.Contents = append(x.Contents, c)
	}
	artifact := func(a handoff.Artifact, name string) {
		add(exportedContent{ID: a.ID, Name: name}, func(c *exportedContent) error {
			if a.Status == handoff.Withdrawn {
				return errors.New(strings.TrimSuffix("withdrawn: "+a.Reason, ": "))
			}
			b, err := s.openBody(ctx, a.ID)
			if err != nil {
				return err
			}
			defer b.Close()
			c.Preview, err = preview.Render(preview.Source{Body: b, Name: path.Base(a.Path), MediaType: a.MediaType},
				preview.Options{Anchor: a.ID + "-"})
			return err
		})
	}
	for _, o := range v.Outputs {
		artifact(*o.Artifact, o.File)
	}
	for _, a := range v.Published {
		artifact(a, a.DisplayName())
	}
}
