package thread

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
)

// A Provider reads what one tool left on disk. It never writes there.
type Provider interface {
	// Thread finds a thread by its id, a subagent's too. The error is NotFound
	// where there is none, Unavailable where it was and its file is gone.
	Thread(ctx context.Context, id string) (*Thread, error)

	// Threads finds all threads that are nobody's subagent, newest first as far
	// as names tell. What can't be read is an error between the others.
	Threads(ctx context.Context) iter.Seq2[*Thread, error]

	// Agents finds the subagents of a thread that this provider found, in the
	// order they were begun. It reads main at most once, and not at all if that
	// has been read.
	Agents(ctx context.Context, main *Thread) ([]Agent, error)
}

// A Brancher is a provider of threads that have branches. A URI names one by an
// entry on it, in the place of a subagent.
type Brancher interface {
	// Branch returns main as it was when the entry was its last, and the entry in
	// its one spelling; nil if main has no such entry.
	Branch(ctx context.Context, main *Thread, entry string) (*Thread, string, error)
}

// A Driver is a provider before any file is opened.
type Driver struct {
	Name string

	// ID reports whether s can only be an id of this provider or of one with ids
	// of the same form, and returns it in its one spelling.
	ID func(s string) (id string, ok bool)

	// Roots names the directories in which the tool keeps threads, whether they
	// exist or not. An empty variable is an unset one.
	Roots func(getenv func(string) string, home string) []string

	// Open returns the provider for these directories. Those that do not exist
	// hold no threads.
	Open func(roots []string) (Provider, error)
}

// UUIDs is the ID of a driver whose ids are UUIDs.
func UUIDs(s string) (string, bool) { return strings.ToLower(s), IsUUID(s) }

// A Set is all providers, each opened when it is first asked. It may be used by
// several goroutines.
type Set struct {
	drivers []Driver
	getenv  func(string) string
	home    string

	mu     sync.Mutex
	opened map[string]Provider
}

// NewSet returns the set of these drivers for one user's environment.
func NewSet(drivers []Driver, getenv func(string) string, home string) *Set {
	return &Set{drivers: drivers, getenv: getenv, home: home, opened: map[string]Provider{}}
}

// Names returns the providers' names, in the order of their drivers.
func (s *Set) Names() []string {
	var names []string
	for _, d := range s.drivers {
		names = append(names, d.Name)
	}
	return names
}

// Provider opens the provider of this name. The error is Unsupported if there
// is none.
func (s *Set) Provider(name string) (Provider, error) {
	i := slices.IndexFunc(s.drivers, func(d Driver) bool { return d.Name == name })
	if i < 0 {
		return nil, &handoff.Error{Op: "thread", Name: name, Kind: handoff.Unsupported,
			Err: errors.New("no such provider"), Hint: handoff.Advice("providers are " + strings.Join(s.Names(), ", "))}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.opened[name]; p != nil {
		return p, nil
	}
	p, err := s.drivers[i].Open(s.drivers[i].Roots(s.getenv, s.home))
	if err != nil {
		return nil, err
	}
	s.opened[name] = p
	return p, nil
}

// A View is what a URI names.
type View struct {
	URI    URI     // complete and in its one spelling
	Thread *Thread // the thread, or the parent of Agent
	Agents []Agent // all subagents of Thread; nil until asked for
	Agent  *Agent  // the subagent that the URI names, or nil

	provider Provider
}

// Open finds what u names. The error is NotFound, Conflict where a bare id is
// known to several providers, Unsupported or Invalid. A subagent that left no
// trace is no error: its state says so.
func (s *Set) Open(ctx context.Context, u URI) (*View, error) {
	v, err := s.find(ctx, u)
	if err != nil || v.URI.Agent == "" {
		return v, err
	}
	if err := v.LoadAgents(ctx); err != nil {
		return nil, err
	}
	v.Agent = v.pick(v.URI.Agent)
	if b, ok := v.provider.(Brancher); ok && v.Agent == nil {
		if t, entry, err := b.Branch(ctx, v.Thread, v.URI.Agent); t != nil || err != nil {
			v.Thread, v.URI.Agent = t, entry
			return v, err
		}
	}
	if v.Agent == nil {
		v.Agent = v.stranger(ctx, v.URI.Agent)
	}
	v.URI.Agent = v.Agent.ID
	return v, nil
}

// LoadAgents finds the subagents, unless that was done.
func (v *View) LoadAgents(ctx context.Context) (err error) {
	if v.Agents == nil {
		v.Agents, err = v.provider.Agents(ctx, v.Thread)
		if v.Agents == nil {
			v.Agents = []Agent{}
		}
	}
	return err
}

// pick returns the agent that word names: exactly, else in another case, but
// only if one alone answers to it.
func (v *View) pick(word string) *Agent {
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		var found *Agent
		for i := range v.Agents {
			if !v.Agents[i].answers(word, same) {
				continue
			}
			if found != nil {
				return nil
			}
			found = &v.Agents[i]
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// stranger is what there is to say of an agent that the thread does not know.
func (v *View) stranger(ctx context.Context, id string) *Agent {
	a := &Agent{ID: id, URI: v.URI.Child(id), State: State{Status: NotFound, Source: Inferred, Evidence: "neither the parent's transcript nor a child's names it"}}
	if t, err := v.provider.Thread(ctx, id); err == nil && t.ID != v.Thread.ID {
		a.Evidence = []string{fmt.Sprintf("there is a thread %s, but nothing says that it belongs to this one", t.URI())}
	}
	return a
}

// find finds the thread of u.
func (s *Set) find(ctx context.Context, u URI) (*View, error) {
	if u.Provider == "" {
		return s.findAnywhere(ctx, u)
	}
	p, err := s.Provider(u.Provider)
	if err != nil {
		return nil, err
	}
	id := u.Thread
	for _, d := range s.drivers {
		if c, ok := d.ID(id); ok && d.Name == u.Provider {
			id = c
		}
	}
	t, err := p.Thread(ctx, id)
	if err != nil {
		return nil, err
	}
	u.Thread = t.ID
	return &View{URI: u, Thread: t, provider: p}, nil
}

// findAnywhere asks every provider whose ids look so. One that can't be read
// does not hide the others, unless nobody knows the id.
func (s *Set) findAnywhere(ctx context.Context, u URI) (*View, error) {
	if slices.Contains(s.Names(), u.Thread) {
		return nil, &handoff.Error{Op: "thread", Name: u.Thread, Kind: handoff.Unsupported, Err: errors.New("this names a provider, not a thread"), Hint: handoff.Advice(uriHint)}
	}
	var found []*View
	var failed error
	asked := 0
	for _, d := range s.drivers {
		if _, ok := d.ID(u.Thread); !ok {
			continue
		}
		asked++
		in := u
		in.Provider = d.Name
		switch v, err := s.find(ctx, in); {
		case err == nil:
			found = append(found, v)
		case !errors.Is(err, handoff.NotFound):
			failed = errors.Join(failed, err)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var names []string
		for _, v := range found {
			names = append(names, v.URI.String())
		}
		return nil, &handoff.Error{Op: "thread", Name: u.Thread, Kind: handoff.Conflict, Err: fmt.Errorf("several providers know it: %s", strings.Join(names, ", ")), Hint: handoff.Advice("name the provider, as in " + names[0])}
	case failed != nil:
		return nil, failed
	case asked == 0:
		return nil, &handoff.Error{Op: "thread", Name: u.Thread, Kind: handoff.Invalid, Err: errors.New("no provider's ids look like this"), Hint: handoff.Advice(uriHint)}
	}
	return nil, notFound(u.Thread, "look below another home, or name the provider: "+strings.Join(s.Names(), ", "))
}
