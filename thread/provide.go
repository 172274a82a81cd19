package thread

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
)

// GroupByID groups files with the same ID, in the order of the first of each.
// Files without an ID are groups of one. The groups may share the memory of files.
func GroupByID[F any](files []F, id func(F) string) (groups [][]F) {
	index := make(map[string]int, len(files))
	groups = make([][]F, 0, len(files))
	for at, f := range files {
		key := id(f)
		if i, known := index[key]; known && key != "" {
			groups[i] = append(groups[i], f)
			continue
		}
		index[key] = len(groups)
		groups = append(groups, files[at:at+1:at+1])
	}
	return groups
}

// List implements Provider.Threads: it opens one thread for each ID of the files
// that find returns. open returns nil, nil for a file that is not a thread.
func List[F any](ctx context.Context, find func() ([]F, error), id func(F) string,
	open func(copies []F) (*Thread, error)) iter.Seq2[*Thread, error] {
	return func(yield func(*Thread, error) bool) {
		files, err := find()
		if err != nil && !yield(nil, err) {
			return
		}
		for _, copies := range GroupByID(files, id) {
			if ctx.Err() != nil {
				yield(nil, ctx.Err())
				return
			}
			t, err := open(copies)
			if (t != nil || err != nil) && !yield(t, err) {
				return
			}
		}
	}
}

// Children opens one thread for each ID of the files, in the order they were
// started. It skips main itself and files that no longer exist.
func Children[F any](main *Thread, files []F, id func(F) string,
	open func(copies []F) (*Thread, error)) (list []*Thread, err error) {
	for _, copies := range GroupByID(files, id) {
		if id(copies[0]) == main.ID {
			continue
		}
		child, err := open(copies)
		if errors.Is(err, handoff.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	order.Sort(list, CompareStart)
	return list, nil
}

// CompareStart orders threads by their start.
func CompareStart(a, b *Thread) int {
	return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
}

// WarnCopy warns that path is another copy of t.
func (t *Thread) WarnCopy(path string) { t.Warn("there is another copy: %s", path) }

// WarnID warns that the ID in the file name is not the ID in the transcript.
func (t *Thread) WarnID(named, recorded string) {
	t.Warn("the file name has ID %s, the transcript ID %s", named, recorded)
}

// ReaderOf loads t unless it is loaded, and returns its reader, which must be
// an R: a provider is asked only for the agents of its own threads.
func ReaderOf[R Reader](ctx context.Context, t *Thread) (r R, err error) {
	r, ok := t.Reader.(R)
	if !ok {
		return r, errors.New("the thread is of another provider")
	}
	if !t.loaded {
		err = t.Load(ctx)
	}
	return r, err
}

// maxEvents bounds the events that are kept of one subagent.
const maxEvents = 1000

// AddEvent adds an event to the lifecycle of a.
func (a *Agent) AddEvent(at time.Time, name, detail string) {
	if len(a.Lifecycle) < maxEvents {
		a.Lifecycle = append(a.Lifecycle, Event{Time: at, Name: name, Detail: detail})
	}
}

// Join builds the agents of a thread: first one for each subagent that the parent
// mentions, with its transcript in children if there is one, then one for each
// remaining transcript. same reports whether the two belong together. build gets
// the zero value for what is missing.
func Join[S any, C comparable](mentioned []S, children []C, same func(S, C) bool,
	build func(S, C) (Agent, error)) (agents []Agent, err error) {
	children = slices.Clone(children)
	add := func(s S, c C) error {
		a, err := build(s, c)
		agents = append(agents, a)
		return err
	}
	for _, s := range mentioned {
		var child C
		if i := slices.IndexFunc(children, func(c C) bool { return same(s, c) }); i >= 0 {
			child = children[i]
			children = slices.Delete(children, i, i+1)
		}
		if err := add(s, child); err != nil {
			return nil, err
		}
	}
	var none S
	for _, c := range children {
		if err := add(none, c); err != nil {
			return nil, err
		}
	}
	return agents, nil
}

// Descendants returns the subagents of a thread of a provider at all levels, each
// once. What was found before an error is returned with it.
func Descendants(ctx context.Context, p Provider, main *Thread) (list []Agent, err error) {
	seen := map[string]bool{main.ID: true}
	for above := []*Thread{main}; len(above) > 0; above = above[1:] {
		agents, err := p.Agents(ctx, above[0])
		if err != nil {
			return list, err
		}
		for _, a := range agents {
			if seen[a.ID] {
				continue
			}
			seen[a.ID] = true
			list = append(list, a)
			if a.Thread != nil {
				above = append(above, a.Thread)
			}
		}
	}
	return list, nil
}

// Complete sets the remaining fields of a subagent of main, after the provider
// has set what the parent records, the evidence, and the thread if there is one.
// own are the facts of that thread.
func (a *Agent) Complete(main *Thread, own Facts) {
	if own.Partial {
		own.State = own.State.Incomplete()
	}
	if a.Thread != nil {
		a.ID = a.Thread.ID
		a.State = MergeStates(a.State, own.State)
		a.Updated, a.Thread.Last = own.Last, own.Last
	}
	if a.State.Status == "" {
		a.State = State{Status: NotFound, Source: Inferred, Evidence: "mentioned, but no transcript found"}
	}
	a.Validated = len(a.Evidence) > 0 && len(a.Conflicts) == 0
	a.URI = main.URI().Child(a.ID)
	if a.Name != "" {
		a.Aliases = append(a.Aliases, a.Name)
	}
}
