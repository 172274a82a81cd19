package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff/thread"
)

// A block builds a YAML mapping. A YAML library is not used: other tools compare
// these bytes, and a library chooses between plain, quoted and folded scalars by
// itself and differs from version to version. Keys are constants, and every value
// is one quoted scalar, so that any YAML reader returns the original bytes.
type block struct {
	b      strings.Builder
	indent string
}

// put writes a key and its value, unless the value is empty.
func (k *block) put(key, value string) {
	if value != "" {
		k.plain(key, scalar(value))
	}
}

// plain writes a key and a YAML value.
func (k *block) plain(key, value string) {
	k.b.WriteString(k.indent + key + ": " + value + "\n")
	k.indent = strings.ReplaceAll(k.indent, "-", " ")
}

func (k *block) time(key string, t time.Time) { k.put(key, stamp(t)) }

func (k *block) number(key string, n int64) { k.plain(key, strconv.FormatInt(n, 10)) }

// list starts a list with n items.
func (k *block) list(key string, n int) {
	k.b.WriteString(k.indent + key + ":\n")
	if n == 0 {
		k.b.WriteString(k.indent + "  []\n")
	}
}

// item starts a list item at the given depth.
func (k *block) item(depth int) { k.indent = strings.Repeat("  ", depth) + "- " }

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z")
}

// scalar quotes s: in single quotes if possible, else in double quotes with
// escapes.
func scalar(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if !strings.ContainsFunc(s, special) {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case special(r) && r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case special(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case special(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// special reports whether r is not allowed in single quotes on one line.
func special(r rune) bool {
	return !unicode.IsPrint(r) && r != ' ' || r == '\uFEFF' || r == '\u2028' || r == '\u2029'
}

// frontmatter returns the head of the page. Other tools rely on the names and the
// order of the keys.
func (p *page) frontmatter() string {
	k := new(block)
	t := p.Thread
	k.put("uri", p.URI.String())
	k.put("provider", t.Provider)
	k.put("session_id", t.ID)
	if p.Agent != nil && p.Agent.Thread != nil {
		k.put("thread_source", p.Agent.Thread.Source)
	} else {
		k.put("thread_source", t.Source)
	}
	k.metadata(p.subject())
	k.put("continues", p.Continues.String())
	if p.ContinuesMissing {
		k.plain("continues_missing", "true")
	}
	if len(p.ContinuedBy) > 0 {
		k.list("continued_by", len(p.ContinuedBy))
		for _, u := range p.ContinuedBy {
			k.b.WriteString("  - " + scalar(u.String()) + "\n")
		}
	}
	k.put("mode", p.mode())
	if p.Agent != nil {
		p.agentHead(k)
	} else {
		p.states(k, t.State)
		p.subagents(k)
	}
	if p.Usage {
		k.usage(p.subject())
	}
	if ws := p.warnings(); len(ws) > 0 {
		k.list("warnings", len(ws))
		for _, w := range ws {
			k.b.WriteString("  - " + scalar(w) + "\n")
		}
	}
	return "---\n" + k.b.String() + "---\n"
}

func (p *page) mode() string {
	switch {
	case p.Agent != nil:
		return "subagent_detail"
	case p.List:
		return "subagent_list"
	}
	return "subagent_index"
}

func (p *page) states(k *block, s thread.State) {
	k.put("status", string(s.Status))
	k.put("status_source", string(s.Source))
	k.put("status_evidence", s.Evidence)
	k.put("status_waiting", s.Waiting)
	k.time("status_at", s.At)
	k.put("status_age", p.age(s.At))
}

func (k *block) metadata(t *thread.Thread) {
	if t == nil {
		return
	}
	k.put("title", t.Title)
	k.put("cwd", t.Cwd)
	k.put("branch", t.Branch)
	k.put("commit", t.Commit)
	k.put("repository", t.Repository)
	k.put("tool_version", t.Version)
	k.time("started_at", t.Started)
	k.time("updated_at", t.Last)
	if t.Archived {
		k.plain("archived", "true")
	}
	if t.Parent != "" {
		k.put("parent", thread.URI{Provider: t.Provider, Thread: t.Parent}.String())
	}
	if t.ForkedFrom != "" {
		k.put("forked_from", thread.URI{Provider: t.Provider, Thread: t.ForkedFrom}.String())
	}
}

func (p *page) agentHead(k *block) {
	a := p.Agent
	k.put("agent_id", a.ID)
	k.put("agent_name", a.Name)
	k.put("agent_role", a.Role)
	k.put("subagent_uri", a.URI.String())
	p.states(k, a.State)
	if a.Thread != nil {
		k.put("child_thread_id", a.Thread.ID)
		k.put("child_thread_source", a.Thread.Source)
		k.time("child_last_updated_at", a.Updated)
	}
}

func (p *page) subagents(k *block) {
	if p.omitted > 0 {
		k.number("subagents_omitted", int64(p.omitted))
	}
	k.list("subagents", len(p.agents))
	for _, a := range p.agents {
		k.item(1)
		k.put("agent_id", a.ID)
		k.put("uri", a.URI.String())
		k.put("name", a.Name)
		k.put("role", a.Role)
		p.states(k, a.State)
		k.put("relation", relation(a))
		k.time("last_update", a.Updated)
		if a.Thread != nil {
			k.put("thread_source", a.Thread.Source)
		}
		if p.Usage {
			k.usage(a.Thread)
		}
		k.indent = ""
	}
}

// usage writes the token usage of t.
func (k *block) usage(t *thread.Thread) {
	if t == nil {
		return
	}
	outer := k.indent
	k.b.WriteString(outer + "usage:\n")
	k.indent = outer + "  "
	k.put("completeness", string(t.Usage.Completeness))
	k.put("reason", t.Usage.Reason)
	k.tokens(t.Usage.Tokens)
	if n := t.Inherited.Total(); n > 0 {
		k.number("inherited_total", n)
	}
	if len(t.Usage.Models) > 0 {
		k.list("models", len(t.Usage.Models))
	}
	for _, m := range t.Usage.Models {
		k.item(len(outer)/2 + 2)
		k.put("model", m.Model)
		k.put("provider", m.Provider)
		k.tokens(m.Tokens)
	}
	k.indent = outer
}

func (k *block) tokens(t thread.Tokens) {
	k.number("input", t.Input)
	k.number("cache_read", t.CacheRead)
	k.number("cache_write", t.CacheWrite)
	k.number("output", t.Output)
	k.number("reasoning", t.Reasoning)
	k.number("calls", int64(t.Calls))
	if t.Cost > 0 {
		k.put("cost_usd", strconv.FormatFloat(t.Cost, 'f', -1, 64))
	}
}

// warnings returns the distinct warnings of the threads on the page.
func (p *page) warnings() []string {
	ws := slices.Clone(p.Thread.Warnings)
	if p.Agent != nil && p.Agent.Thread != nil {
		ws = append(ws, p.Agent.Thread.Warnings...)
	}
	slices.Sort(ws)
	return slices.Compact(ws)
}

// state returns the state of the thread or subagent on the page.
func (p *page) state() thread.State {
	if p.Agent != nil {
		return p.Agent.State
	}
	return p.Thread.State
}

// age returns the time since t, "" if it is unknown.
func (p *page) age(t time.Time) string {
	d := p.Now.Sub(t)
	switch {
	case t.IsZero() || p.Now.IsZero():
		return ""
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}
