package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Program describes where a program keeps its transcripts and how they are opened.
type Program struct {
	Name string
	Env  string // environment variable that sets the roots

	// Stores are the places of transcripts. Of several with the same ID, the first is
	// preferred, see also Store.Rank and Newest.
	Stores []Store

	// Find returns the transcripts that no pattern describes, such as those in
	// databases, also those of subagents. Errors that do not prevent finding others are
	// collected in w. It may be nil.
	Find func(ctx context.Context, w *thread.Walk, roots []string) ([]*Found, error)

	// Head sets what the first HeadLen bytes of a transcript show: ID, Parent, Proof,
	// Alias, Head and so on. It is called before Open, and to find a thread that no name
	// shows. nil if paths show all.
	Head    func(w *thread.Walk, f *Found, start jsonl.Value)
	HeadLen int64

	// Starts is the beginning of a line that starts a thread, if a file may have
	// several. Head is called for each with the bytes from there.
	Starts []byte

	// Open sets the metadata and the Reader of a thread.
	Open func(w *thread.Walk, f *Found, t *thread.Thread)

	// Advice is added to the hint of the error for an ID that is not found. It may be nil.
	Advice func(id string) string

	// Other finds a thread that neither names nor heads show, or returns the error for one
	// that was removed. It returns nil, nil if there is none, and may be nil.
	Other func(ctx context.Context, p *Provider, all []*Found, id string) (*thread.Thread, error)

	// Relate adds what proves, contradicts or names a subagent of main. It may be nil.
	Relate func(main *thread.Thread, a *thread.Agent, child *thread.Thread)

	Elsewhere string // see thread.Stored

	Begun   string // the layout of Found.Begun; "" if subagents are not found by their start
	Newest  bool   // of several copies with the same rank, the one that was written last counts
	Recent  bool   // threads are in the order of their last write, and paths show which are those of subagents
	Plain   bool   // transcripts are plain JSON, see thread.Stored.Texts
	ByStart bool   // subagents are in the order of their start, not those first that the thread mentions
	Deep    bool   // the subagents of a thread are those of all levels
	Alone   bool   // a transcript depends on no files but Found.Also; otherwise on those beside it

	// Nested is set if a thread depends on the directories of its subagents: those of
	// transcripts whose paths have its ID as that of their parent.
	Nested bool

	// Mentioned is set if heads are long, so that only transcripts that a thread mentions
	// are looked at for its subagents.
	Mentioned bool

	// Named is set if a transcript with an ID in its name has no other one, so that its
	// head need not be read to find a thread.
	Named bool

	// Branches is set if a thread can be read up to one of its entries, Scan.Entry. A
	// Decoder calls Fail(ErrNoEntry) if there is no such entry.
	Branches bool

	// Inside are texts of which transcripts have one in which the records of subagents are.
	// Unless Named is set, a subagent that is named without its session is searched for in
	// them.
	Inside []string
}

// ErrNoEntry is the error of a read up to an entry that does not exist.
var ErrNoEntry = errors.New("no such entry")

// Open is the Driver.Open of a program.
func Open(p Program) func(roots []string) (thread.Provider, error) {
	return func(roots []string) (thread.Provider, error) { return p.Provider(roots), nil }
}

// A Provider is the thread.Provider of a program.
type Provider struct {
	Program
	roots []string
}

// Provider returns the provider of a program in directories.
func (p Program) Provider(roots []string) *Provider { return &Provider{p, roots} }

// Transcripts returns the transcripts that a query wants. Errors are collected in w.
func (p *Provider) Transcripts(ctx context.Context, w *thread.Walk, q Query) []*Found {
	all, _ := p.find(ctx, w, q, false) // an error of Find is one of a database
	return all
}

// Used returns what the threads that a query wants used, without what was copied.
func (p *Provider) Used(ctx context.Context, q Query) (sum thread.Tokens, err error) {
	w := thread.NewWalk(ctx)
	for _, copies := range thread.GroupByID(p.Transcripts(ctx, w, q), (*Found).storedKey) {
		t, err := p.open(w, copies)
		if err == nil {
			err = t.Load(ctx)
		}
		if err != nil {
			return sum, err
		}
		sum.Add(t.Usage.Tokens)
	}
	return sum, w.Err(p.Name)
}

// Roots returns the directories of the provider.
func (p *Provider) Roots() []string { return p.roots }

// Thread implements thread.Provider.
func (p *Provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	w := thread.NewWalk(ctx)
	if isName(id) && p.Find == nil {
		all, _ := p.find(ctx, w, Query{ID: id}, false) // an error returns in the complete search
		if found := p.named(w, all, id); found != nil {
			return p.open(w, found)
		}
	}
	all, err := p.find(ctx, w, Query{}, false)
	if id != "" {
		for _, search := range []func(*thread.Walk, []*Found, string) []*Found{p.named, p.headed, p.further} {
			if found := search(w, all, id); found != nil {
				return p.despite(err, w, found)
			}
		}
	}
	switch {
	case err != nil:
		return nil, err
	case w.Err(p.Name) != nil:
		return nil, w.Err(p.Name + "/" + id)
	}
	if t, err := p.inside(ctx, all, id); t != nil || err != nil {
		return t, err
	}
	if p.Other != nil && id != "" {
		if t, err := p.Other(ctx, p, all, id); t != nil || err != nil {
			return t, err
		}
	}
	var ids []string
	for _, f := range all {
		if !f.Local {
			ids = append(ids, cmp.Or(f.ID, f.Named))
		}
	}
	missing := thread.NotFoundError(p.Name, id, p.roots, p.Env, ids)
	if p.Advice != nil {
		missing.Hint.Text += "; " + p.Advice(id)
	}
	return nil, missing
}

// despite opens a transcript that was found although an error prevented finding others.
func (p *Provider) despite(err error, w *thread.Walk, copies []*Found) (*thread.Thread, error) {
	t, failed := p.open(w, copies)
	if failed == nil && err != nil {
		t.Warn("%v", err)
	}
	return t, failed
}

// named returns the transcripts whose paths or names have an ID.
func (p *Provider) named(w *thread.Walk, all []*Found, id string) (found []*Found) {
	for _, f := range all {
		short := f.Short != "" && strings.HasPrefix(id, f.Short)
		if f.Local || (f.ID != id && f.Named != id && f.Alias != id && !short) {
			continue
		}
		if p.head(w, f); short && f.ID == "" {
			f.ID = id // its head is damaged
		}
		if !short || f.ID == id {
			found = append(found, f)
		}
	}
	return found
}

// headed returns the transcripts whose heads have an ID.
func (p *Provider) headed(w *thread.Walk, all []*Found, id string) (found []*Found) {
	for _, f := range all {
		known := p.Head == nil || p.Mentioned || p.Named // and a head need not be read
		if (f.ID != "" && known) || f.Local || f.headed || w.Done() {
			continue
		}
		if p.head(w, f); f.ID == id || f.Alias == id {
			found = append(found, f)
		}
	}
	return found
}

// further returns the thread with an ID that is not the first one of its file.
func (p *Provider) further(w *thread.Walk, all []*Found, id string) []*Found {
	for _, f := range all {
		for _, next := range p.rest(w, f) {
			if next.ID == id {
				return []*Found{next}
			}
		}
	}
	return nil
}

// head reads the head of a transcript, once.
func (p *Provider) head(w *thread.Walk, f *Found) {
	if f.headed || p.Head == nil || f.Err != nil {
		return
	}
	f.headed = true
	var start []byte
	if p.HeadLen > 0 {
		start = w.Head(f.Path, p.HeadLen)
	}
	p.Head(w, f, start)
}

// rest returns the threads after the first one in a file.
func (p *Provider) rest(w *thread.Walk, f *Found) (list []*Found) {
	if p.Starts == nil || f.Err != nil || f.Whole {
		return nil
	}
	src := w.Open(f.Path)
	if src == nil {
		return nil
	}
	defer src.Close()
	seen := map[string]bool{f.ID: true}
	for at, line := range jsonl.LinesWith(src, p.Starts, int(p.HeadLen)) {
		next := *f
		next.ID, next.Start = "", at
		next.headed = true
		if p.Head(w, &next, line); next.ID != "" && !seen[next.ID] {
			seen[next.ID] = true
			list = append(list, &next)
		}
	}
	return list
}

// OpenFound opens a transcript.
func (p *Provider) OpenFound(w *thread.Walk, f *Found) (*thread.Thread, error) {
	return p.open(w, []*Found{f})
}

// open opens the preferred one of several copies of a thread.
func (p *Provider) open(w *thread.Walk, copies []*Found) (*thread.Thread, error) {
	p.order(w, copies)
	f := copies[0]
	if f.Err != nil {
		return nil, f.Err
	}
	if f.stat == (thread.FileStat{}) {
		if _, err := os.Stat(f.Path); err != nil {
			return nil, thread.UnreadableError(f.Path, err)
		}
	}
	if p.head(w, f); f.Err != nil {
		return nil, f.Err
	}
	t := &thread.Thread{Provider: p.Name, ID: cmp.Or(f.ID, f.Named), Source: f.Path, Parent: f.Parent,
		Modified: f.modified(w)}
	p.set(w, f, t)
	r, ok := t.Reader.(*Reader)
	if ok {
		r.found = f
	}
	for _, c := range copies[1:] {
		switch {
		case c.Path == f.Path:
		case ok && p.continues(c, f):
			r.others = append(r.others, c.Path)
			r.Resumed, r.FromTail = "", false
			other := &thread.Thread{Provider: t.Provider, ID: t.ID, Source: c.Path}
			p.head(w, c)
			if p.set(w, c, other); !other.Started.IsZero() && other.Started.Before(t.Started) {
				t.Started = other.Started
			}
		default:
			t.WarnCopy(c.Path)
		}
	}
	return t, nil
}

// set sets the metadata and the reader of a thread.
func (p *Provider) set(w *thread.Walk, f *Found, t *thread.Thread) {
	if f.Open != nil {
		f.Open(w, t)
		return
	}
	p.Open(w, f, t)
}

// continues reports whether two files are of one thread whose directory changed: they have one name,
// in two directories.
func (p *Provider) continues(a, b *Found) bool {
	isLines := func(f *Found) bool {
		return filepath.Ext(f.Path) == ".jsonl" && !f.Packed && f.Start == 0 && f.Parent == ""
	}
	return p.Plain && isLines(a) && isLines(b) && filepath.Base(a.Path) == filepath.Base(b.Path)
}

// order puts the preferred one of several copies first.
func (p *Provider) order(w *thread.Walk, copies []*Found) {
	if p.Newest && len(copies) > 1 {
		slices.SortStableFunc(copies, func(a, b *Found) int {
			return cmp.Or(a.Rank-b.Rank, newer(w, a, b))
		})
	}
}

// newer compares transcripts by their last write, then by their size.
func newer(w *thread.Walk, a, b *Found) int {
	if c := b.modified(w).Compare(a.modified(w)); c != 0 {
		return c
	}
	return cmp.Compare(w.StatFile(b.Path).Size, w.StatFile(a.Path).Size)
}

// modified returns when the transcript was last changed: as the store records it,
// otherwise when its file or the write-ahead log of its database was written.
func (f *Found) modified(w *thread.Walk) time.Time {
	if !f.Modified.IsZero() {
		return f.Modified
	}
	stat := f.stat
	if stat == (thread.FileStat{}) {
		stat = w.StatFile(f.Path)
	}
	at := stat.Modified
	if ext := filepath.Ext(f.Path); ext == ".jsonl" || ext == ".json" { // no database
		return at
	}
	if log := w.StatFile(f.Path + "-wal").Modified; log.After(at) {
		return log
	}
	return at
}

// Threads implements thread.Provider.
func (p *Provider) Threads(ctx context.Context) iter.Seq2[*thread.Thread, error] {
	w := thread.NewWalk(ctx)
	find := func() (list []*Found, err error) {
		all, err := p.find(ctx, w, Query{Main: true}, p.Recent)
		for _, f := range all {
			if !p.Recent {
				p.head(w, f)
			}
			list = append(append(list, f), p.rest(w, f)...)
		}
		if err == nil {
			err = w.Err(p.Name)
		}
		list = slices.DeleteFunc(list, func(f *Found) bool { return f.Parent != "" || f.Hidden || f.Err != nil })
		slices.SortStableFunc(list, func(a, b *Found) int {
			if p.Recent {
				return cmp.Or(newer(w, a, b), strings.Compare(a.ID, b.ID))
			}
			return strings.Compare(b.Sort, a.Sort)
		})
		return list, err
	}
	return thread.List(ctx, find, (*Found).key, func(copies []*Found) (*thread.Thread, error) {
		t, err := p.open(w, copies)
		if err == nil && (t.Parent != "" || t.ID == "" || copies[0].Hidden) {
			return nil, nil
		}
		return t, err
	})
}

// key returns the ID of a thread.
func (f *Found) key() string { return cmp.Or(f.ID, f.Named) }

// Branch implements thread.Brancher.
func (p *Provider) Branch(ctx context.Context, main *thread.Thread, entry string) (*thread.Thread, string, error) {
	r, ok := main.Reader.(*Reader)
	switch {
	case !p.Branches:
		return nil, entry, nil
	case !ok:
		return nil, entry, errors.New("the thread is of another provider")
	}
	for _, leaf := range []string{entry, strings.ToLower(entry)} {
		w := thread.NewWalk(ctx)
		t, err := p.open(w, []*Found{r.found})
		if err != nil {
			return nil, entry, err
		}
		branch := *t.Reader.(*Reader)
		branch.entry = leaf
		t.Reader = &branch
		if err := t.Load(ctx); !errors.Is(err, ErrNoEntry) {
			return t, leaf, err
		}
	}
	return nil, entry, nil
}

// Contains reports whether a line of a file contains one of the texts.
func Contains(path string, texts ...string) bool {
	src, err := thread.OpenFile(path)
	if err != nil {
		return false
	}
	defer src.Close()
	rd := jsonl.Borrow(src)
	defer rd.Return()
	for rd.Next() {
		for _, text := range texts {
			if contains(rd.Line(), []byte(text)) {
				return true
			}
		}
	}
	return false
}

// contains is bytes.Contains. It searches from the first byte of the text that is rare in JSON:
// bytes.Index is several times slower if a text begins with a quote.
func contains(line, text []byte) bool {
	rare := max(0, bytes.IndexFunc(text, func(r rune) bool { return r == '_' || unicode.IsUpper(r) }))
	for at := rare; at < len(line); at++ {
		i := bytes.Index(line[at:], text[rare:])
		if i < 0 {
			return false
		}
		if at += i; bytes.HasPrefix(line[at-rare:], text) {
			return true
		}
	}
	return false
}

// inside finds a subagent in the transcripts of sessions by its ID or another name.
func (p *Provider) inside(ctx context.Context, all []*Found, id string) (*thread.Thread, error) {
	if p.Inside == nil || p.Named || id == "" {
		return nil, nil
	}
	w := thread.NewWalk(ctx)
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.Err != nil || !Contains(f.Path, id) {
			continue
		}
		main, err := p.open(w, []*Found{f})
		if err != nil {
			return nil, err
		}
		agents, err := p.Agents(ctx, main)
		for _, a := range agents {
			if a.Thread != nil && (a.ID == id || slices.Contains(a.Aliases, id)) {
				return AsThread(main, a), nil
			}
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// AsThread returns the thread of a subagent of main.
func AsThread(main *thread.Thread, a thread.Agent) *thread.Thread {
	t := a.Thread
	t.Subagent, t.Parent = true, cmp.Or(t.Parent, main.ID)
	t.AgentName, t.AgentRole = cmp.Or(t.AgentName, a.Name), cmp.Or(t.AgentRole, a.Role)
	return t
}
