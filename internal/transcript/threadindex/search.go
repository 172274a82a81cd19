package threadindex

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex/store"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// A Search selects threads and subagents by what they contain. All of its
// conditions must be true.
type Search struct {
	Query

	// Text is what must be found in a thread: words, phrases in double quotes,
	// and prefixes that end in *, in any case.
	Text string

	From   string // role whose texts are searched: one of SearchRoles; "" for all, and titles
	Tool   string // name of a tool that was called, in any case
	Path   string // a file that a call names, or a directory with it: a path or its end
	Newest bool   // order by time; otherwise by where the text is found, then by time

	// Each, unless it is nil, is called for each match, in order. The Result then has
	// no Matches, which may take much memory.
	Each func(transcript.Match) error
}

// SearchRoles returns the roles that a Search can select.
func SearchRoles() []string { return []string{"user", "assistant", "compaction", "tool"} }

// A rank is how good a match is; smaller is better.
type rank int

const (
	inTitle rank = iota
	inPrompts
	anywhere
	nowhere
)

// plan is a search that was checked.
type plan struct {
	Search
	terms []words.Term
	only  column // columns for all
}

func (s Search) plan() (p plan, err error) {
	p = plan{Search: s, terms: words.Parse(s.Text), only: columns}
	if s.Text != "" || s.Tool == "" && s.Path == "" {
		err = checkTerms(s.Text, p.terms)
	}
	if s.Path != "" {
		p.Path = filepath.Clean(s.Path)
	}
	if s.From != "" {
		var ok bool
		if p.only, ok = roles[s.From]; !ok {
			err = handoff.E("search", s.From, handoff.Invalid, errors.New("unknown role"),
				handoff.Advice("the roles are "+strings.Join(SearchRoles(), ", ")))
		}
	}
	return p, err
}

// checkTerms returns an error of kind Invalid if a text has no word, or too many.
func checkTerms(text string, terms []words.Term) error {
	if err := words.Check(len(terms)); err != nil {
		return handoff.E("search", strconv.Quote(text), handoff.Invalid, err,
			handoff.Advice("search for a few words of a message, a title or a command"))
	}
	return nil
}

// levels returns the columns in which all terms must be found for each rank.
func (p plan) levels() [][]column {
	if p.only != columns {
		return [][]column{inPrompts: nil, anywhere: {p.only}}
	}
	return [][]column{inTitle: {titles}, inPrompts: {titles, prompts},
		anywhere: {titles, prompts, answers, summaries, calls}}
}

// rank returns how well an entry matches.
func (p plan) rank(e *entry) rank {
	p.Observer.Observe(e.URI, e.Thread)
	if !p.selects(e.Thread) || !p.selectsFacts(e.Thread) || p.Role != "" && !e.HasRole(p.Role) {
		return nowhere
	}
	if p.Tool != "" && !e.tools[strings.ToLower(p.Tool)] {
		return nowhere
	}
	if p.Path != "" && !slices.ContainsFunc(e.touches, func(t touch) bool { return isPath(t.path, p.Path) }) {
		return nowhere
	}
	if len(p.terms) == 0 {
		return anywhere
	}
	for r, in := range p.levels() {
		if len(in) > 0 && !slices.ContainsFunc(p.terms, func(t words.Term) bool { return !e.has(t, in) }) {
			return rank(r)
		}
	}
	return nowhere
}

// has reports whether a term is in one of the columns.
func (e *entry) has(t words.Term, in []column) bool {
	return slices.ContainsFunc(in, func(c column) bool { return t.In(e.words[c]) })
}

// isPath reports whether path is a file or directory that a person calls name, or is
// below a directory that a person calls so. Name is clean.
func isPath(path, name string) bool {
	path, name = path+"/", strings.TrimSuffix(name, "/")+"/"
	return strings.HasPrefix(path, name) || strings.Contains(path, "/"+name)
}

// A hit is a match without its snippets.
type hit struct {
	rank     rank
	key, uri string // of the transcript, and of the thread
	modified time.Time
	stored   *thread.Stored
	item     *transcript.Item
	encoded  []byte // item as the index has it, if item is nil
}

// match returns the match without its snippets.
func (h hit) match() (m transcript.Match, err error) {
	if h.item != nil {
		return transcript.Match{Item: *h.item}, nil
	}
	m.Item, err = decodeItem(h.encoded)
	return m, err
}

// decodeItem decodes an item as the index has it.
func decodeItem(b []byte) (i transcript.Item, err error) {
	if err = json.Unmarshal(b, &i); err != nil {
		err = fmt.Errorf("%w: %w", store.ErrValue, err)
	}
	return i, err
}

// compareHits orders hits.
func (p plan) compareHits(a, b hit) int {
	n := 0
	if !p.Newest {
		n = cmp.Compare(a.rank, b.rank)
	}
	return cmp.Or(n, b.modified.Compare(a.modified), strings.Compare(a.key, b.key), strings.Compare(a.uri, b.uri))
}

// check returns an error for an unknown provider.
func (f *Files) check(q Query) error {
	for _, name := range q.Providers {
		if _, err := f.set.Provider(name); err != nil {
			return err
		}
	}
	return nil
}

// Search returns the threads and subagents that s selects. A transcript that
// can't be read is a warning. Kinds: Invalid (no word, a role), Unsupported (a
// provider).
func (f *Files) Search(ctx context.Context, s Search) (transcript.Matches, error) {
	p, err := s.plan()
	if err != nil {
		return transcript.Matches{}, err
	}
	all, err := f.find(ctx, s.Providers)
	if err != nil {
		return transcript.Matches{}, err
	}
	list := slices.DeleteFunc(all.stored, func(st *thread.Stored) bool { return !s.inTime(st.Modified) })
	var mu sync.Mutex
	var hits []hit
	thread.Parallel(len(list), func(i int) {
		if ctx.Err() != nil || !mayContain(ctx, list[i], p.terms) {
			return
		}
		found, err := p.read(ctx, list[i])
		mu.Lock()
		defer mu.Unlock()
		hits = append(hits, found...)
		if err != nil && !errors.Is(err, handoff.NotFound) {
			all.warnings = append(all.warnings, err.Error())
		}
	})
	if ctx.Err() != nil {
		return transcript.Matches{}, ctx.Err()
	}
	slices.Sort(all.warnings)
	return p.result(ctx, hits, all.warnings)
}

// read returns the hits in a transcript.
func (p plan) read(ctx context.Context, s *thread.Stored) (hits []hit, err error) {
	threads, err := open(ctx, s)
	for _, t := range threads {
		e, failed := readEntry(ctx, t)
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		if r := p.rank(e); r < nowhere {
			e.Requests = nil // which a match does not show
			hits = append(hits, hit{rank: r, key: keyOf(s), uri: e.URI.String(), modified: e.Modified, stored: s, item: &e.Item})
		}
	}
	return hits, err
}

// result returns the best hits with their snippets, or passes them to p.Each.
func (p plan) result(ctx context.Context, hits []hit, warnings []string) (transcript.Matches, error) {
	r := transcript.Matches{Matches: []transcript.Match{}, Warnings: warnings}
	order.Sort(hits, p.compareHits)
	seen := map[string]bool{}
	hits = slices.DeleteFunc(hits, func(h hit) bool {
		again := seen[h.uri]
		seen[h.uri] = true
		return again
	})
	if r.More = p.Limit > 0 && len(hits) > p.Limit; r.More {
		hits = hits[:p.Limit]
	}
	each := p.Each
	if each == nil {
		each = func(m transcript.Match) error {
			r.Matches = append(r.Matches, m)
			return nil
		}
	}
	for part := range slices.Chunk(hits, maxParallel) {
		matches, failed := make([]transcript.Match, len(part)), make([]error, len(part))
		for i, h := range part {
			var err error
			if matches[i], err = h.match(); err != nil {
				return r, err
			}
			p.Observer.Observe(matches[i].URI, matches[i].Thread)
		}
		thread.Parallel(len(part), func(i int) {
			matches[i].Snippets, failed[i] = p.snippets(ctx, matches[i].Item, part[i].stored)
		})
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		for i, m := range matches {
			if failed[i] != nil {
				r.Warnings = append(r.Warnings, failed[i].Error())
			}
			if err := each(m); err != nil {
				return r, err
			}
		}
	}
	return r, ctx.Err()
}

// maxParallel is how many transcripts are open at once.
const maxParallel = 64
