package threadindex

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/words"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/transcript"
)

// maxSnippets is the number of snippets of a match.
const maxSnippets = 3

// A candidate is a text that may become a snippet.
type candidate struct {
	found int // number of conditions that it meets
	field column
	n     int // of the message
	text  string

	inferred bool // it is of a call that is
}

// A collector chooses the texts of a thread that meet the most conditions,
// the earliest of those.
type collector struct {
	plan
	want int // number of conditions
	best []candidate
}

var errEnough = errors.New("enough")

// snippets reads a thread of a transcript as far as its snippets need. It has
// none if the thread was removed in the meantime.
func (p plan) snippets(ctx context.Context, i transcript.Item, from *thread.Stored) ([]transcript.Snippet, error) {
	list := []transcript.Snippet{}
	threads, err := open(ctx, from)
	at := slices.IndexFunc(threads, func(t *thread.Thread) bool { return newItem(t).URI == i.URI })
	if at < 0 {
		return list, err
	}
	c := &collector{plan: p, want: len(p.terms)}
	for _, condition := range []string{p.Tool, p.Path} {
		if condition != "" {
			c.want++
		}
	}
	c.add(candidate{field: titles, text: i.Title})
	last := 0
	_, err = threads[at].Reader.Read(ctx, thread.Tools, func(m thread.Message) error {
		if m.N > 0 {
			last = m.N
		}
		if field, ok := columnOf(m); ok {
			c.add(candidate{field: field, n: last, text: m.Text})
		}
		for _, call := range m.Tools {
			c.call(call, last, i.Cwd)
		}
		if len(c.best) == maxSnippets && c.best[maxSnippets-1].found == c.want {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return list, err
	}
	order.Sort(c.best, func(a, b candidate) int { return cmp.Compare(a.n, b.n) })
	for _, b := range c.best {
		uri := i.URI
		uri.From, uri.To = b.n, b.n
		parts := words.Pieces(b.text, p.terms)
		list = append(list, transcript.Snippet{URI: uri, Field: columnNames[b.field], Text: strings.Join(parts, ""),
			Pieces: parts, Inferred: b.inferred})
	}
	return list, nil
}

// call adds the text of a call.
func (c *collector) call(call thread.Call, n int, cwd string) {
	a := action.Inspect(call)
	met := 0
	if c.Tool != "" && strings.EqualFold(call.Name, c.Tool) {
		met++
	}
	if c.Path != "" &&
		slices.ContainsFunc(a.Paths, func(path string) bool { return isPath(action.Absolute(cwd, path), c.Path) }) {
		met++
	}
	c.add(candidate{met, calls, n, a.Text(), call.Inferred})
}

// add adds a text whose number of conditions is that without those of its words.
func (c *collector) add(text candidate) {
	if c.only != columns && c.only != text.field {
		return
	}
	list := words.Append(nil, text.text)
	for _, t := range c.terms {
		if t.In(list) {
			text.found++
		}
	}
	if text.found == 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(c.best, text.found, func(b candidate, met int) int {
		if b.found >= met {
			return -1 // before
		}
		return 1
	})
	if at < maxSnippets {
		c.best = slices.Insert(c.best, at, text)
		c.best = c.best[:min(len(c.best), maxSnippets)]
	}
}
