package web

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/access"
	"github.com/agent-handoff/handoff/cmd/internal/preview"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// functions are the functions of templates.
func (s *Server) functions() template.FuncMap {
	list := s.look.functions()
	list["sections"], list["relative"] = s.sections, s.relative
	return list
}

// functions are those that need nothing of a workspace.
func (l Look) functions() template.FuncMap {
	return template.FuncMap{
		"asset":       l.assets.url,
		"address":     Address,
		"diffAddress": diffAddress,
		"keptView":    KeptView,
		"line":        printable.Line,
		"text":        func(s string) string { return string(printable.Text([]byte(s))) },
		"ago":         func(t time.Time) template.HTML { return ago(t, l.now()) },
		"size":        textfmt.Size,
		"short":       shortID,
		"command":     func(action string, args ...string) string { return cli.CommandLine(handoff.Action(action), args...) },
		"artifactURL": artifactURL,
		"sessionURL":  sessionURL,
		"channelURL":  channelURL,
		"issueURL":    issueURL,
		"threadURL":   threadURL,
		"graphURL":    graphURL,
		"compareURL":  compareURL,
		"messageURL":  messageURL,
		"textURL":     textURL,
		"briefURL":    briefURL,
		"cost":        textfmt.Cost,
		"each":        textfmt.Each,
		"rate":        textfmt.Percent,
		"change":      func(c *trace.CostChange) string { return textfmt.Change(*c) },
		"count":       textfmt.Count,
		"changed":     textfmt.Changed,
		"tokens":      textfmt.Tokens,
		"grouped":     textfmt.Grouped,
		"uri":         parsed,
		"agentURL":    func(name string) string { return "/sessions?agent=" + url.QueryEscape(name) },
		"join":        strings.Join,
		"dict":        dict,
		"title":       handoff.Artifact.DisplayName,
		"titled":      titled,
		"fileURL":     func(id, name string) string { return sessionURL(id) + "/files/" + escape(name) },
		"servable":    func(name string) bool { return access.IsPlainPath(&url.URL{Path: "/" + name}) },
		"odd":         func(i int) bool { return i%2 == 1 },
		"hint":        cli.HintText,
		"took":        took,
		"millis":      millis,
		"shell":       textfmt.ShellLine,
		"json":        func(v any) string { b, _ := handoff.EncodeJSON(v); return string(b) },
		"who":         whoOf,
		"marks":       marks,
		"linked":      linked,
		"class":       noticeClass,
		"chainURL":    chainURL,
		"snippet":     snippet,
		"lower":       func(u trace.Usage) bool { return strings.HasPrefix(textfmt.Cost(u), "≥") },
		"percent":     func(thousandths int) string { return fmt.Sprintf("%.1f %%", float64(thousandths)/10) },
		"notice":      noticeName,
		"subjectURL":  subjectURL,
		"base":        path.Base,
		"words":       func(name string) string { return strings.ReplaceAll(name, "_", " ") },
		"indented":    func(b json.RawMessage) string { return indented(string(b)) },
	}
}

// sections returns the entries of the navigation.
func (s *Server) sections() []crumb {
	list := []crumb{{"Now", "/"}, {"Sessions", "/sessions"}, {"Artifacts", "/artifacts"},
		{"Channels", "/channels"}, {"Lineage", "/graph"}, {"Pipelines", "/pipelines"}}
	if s.o.Source.Threads != nil {
		list = append(list, crumb{"Threads", "/threads"}, crumb{"Files", "/files"}, crumb{"Cost", "/cost"})
	}
	return append(list, crumb{"Check", "/check"})
}

// relative returns an absolute path relative to the workspace if it is inside.
func (s *Server) relative(name string) string {
	return strings.TrimPrefix(name, s.o.Source.Root+"/")
}

// whoOf returns who made a record, as far as it is known.
func whoOf(a handoff.Artifact) string { return a.PublishedBy().Name() }

// dict returns a map of its arguments, which alternate between keys and values:
// what a part of a page needs when that is several things.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

// artifactURL returns the URL of an artifact's page, by any ref.
func artifactURL(ref string) string { return "/artifacts/" + escape(ref) }

// bodyURL returns the URL of what an artifact published.
func bodyURL(id string) string { return "/bodies/" + id }

func sessionURL(id string) string   { return "/sessions/" + url.PathEscape(id) }
func channelURL(name string) string { return "/channels/" + url.PathEscape(name) }
func issueURL(run string) string    { return "/pipelines/" + escape(run) }

// threadURL returns the URL of a thread's page: the URI without its scheme.
func threadURL(uri string) string { return "/threads/" + escape(strings.TrimPrefix(uri, "agents://")) }

// textURL returns the URL of the text of a message.
func textURL(u thread.URI, n int) string {
	return fmt.Sprintf("/messages/%d/%s", n, escape(strings.TrimPrefix(u.String(), "agents://")))
}

// briefURL returns the URL of the brief of a thread.
func briefURL(u thread.URI) string {
	return "/briefs/" + escape(strings.TrimPrefix(u.String(), "agents://"))
}

// parsed returns the parts of a thread's URI, as far as it has them.
func parsed(uri string) thread.URI {
	u, _ := thread.ParseURI(uri)
	return u
}

// messageURL returns the URL of a thread's page from a message on.
func messageURL(u thread.URI) string {
	from := u.From
	u.From, u.To = 0, 0
	if from == 0 {
		return threadURL(u.String())
	}
	return fmt.Sprintf("%s?from=%d#M%d", threadURL(u.String()), from, from)
}

// titled returns the title of what a kind names. That of a thread is often the beginning of
// a message, which is Markdown.
func titled(kind, title string) string {
	if kind == "thread" {
		return preview.Title(title)
	}
	return title
}

// subjectURL returns the URL of the page of what a kind and a ref name.
func subjectURL(kind, ref string) string {
	switch kind {
	case "artifact":
		return artifactURL(ref)
	case "session":
		return sessionURL(ref)
	case "thread":
		return threadURL(ref)
	case "pipeline":
		return issueURL(ref)
	}
	return "/check"
}

// chainURL returns the URL of the sessions that build on each other.
func chainURL(session string) string { return graphURL(session) + "&sessions" }

// graphURL returns the URL of what surrounds an artifact, session or run.
func graphURL(focus string) string { return "/graph?focus=" + url.QueryEscape(focus) }

// escape escapes a path, whose slashes stay.
func escape(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// snippet returns a piece of what a search found on one line, without the most common marks of
// Markdown. The input of a tool is JSON, in which a line break is two characters.
func snippet(field, piece string) string {
	marks := []string{"\r\n", " ", "\n", " ", "\t", " ", "**", ""}
	if field == "tool" {
		marks = append(marks, `\n`, " ", `\t`, " ")
	} else {
		marks = append(marks, "`", "", "#### ", "", "### ", "", "## ", "")
	}
	return printable.Line(strings.NewReplacer(marks...).Replace(piece))
}

// shortID returns the end of an ID that is a ref, and for people to compare.
func shortID(id string) string {
	switch {
	case handoff.IsArtifactID(id):
		return id[len(id)-6:]
	case len(id) > 16:
		return id[:8]
	}
	return id
}

// ago returns a time as the time since then, with the exact time in its title.
func ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s" data-ago>%s</time>`,
		t.UTC().Format(time.RFC3339), t.In(now.Location()).Format("Mon 2 Jan 2006, 15:04:05 MST"), since(now.Sub(t))))
}

// took returns a duration for people to compare.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return shortDuration(d)
}

// millis returns a number of milliseconds, or a pointer to it, as a duration.
func millis(n any) string {
	switch n := n.(type) {
	case int64:
		return took(time.Duration(n) * time.Millisecond)
	case *int64:
		if n != nil {
			return took(time.Duration(*n) * time.Millisecond)
		}
	}
	return ""
}

// since returns a duration in its largest unit. app.js has the same rule.
func since(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if n := d / unit.size; n >= 1 {
			return fmt.Sprintf("%d %s ago", n, unit.name)
		}
	}
	return "just now"
}
