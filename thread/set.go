package thread

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Provider reads the transcripts of one tool. It never writes.
type Provider interface {
	// Thread finds a thread or subagent by ID. The error is NotFound if there is
	// none, Unavailable if its transcript was removed or can't be read.
	Thread(ctx context.Context, id string) (*Thread, error)

	// Threads lists all threads that are not subagents, newest first as far as
	// file names show it. What can't be read is an error between the threads.
	Threads(ctx context.Context) iter.Seq2[*Thread, error]

	// Agents lists the subagents of a thread of this provider, in the order they
	// were started. It loads main unless it is loaded.
	Agents(ctx context.Context, main *Thread) ([]Agent, error)
}

// A Brancher is a provider whose threads have branches. A URI names a branch by
// one of its entries, in the position of a subagent.
type Brancher interface {
	// Branch returns main with the given entry as its last, and the canonical ID
	// of the entry. The thread is nil if main has no such entry.
	Branch(ctx context.Context, main *Thread, entry string) (*Thread, string, error)
}

// An Extractor is a Reader of a thread in a database that may have other threads.
type Extractor interface {
	// Extract adds the rows of the thread, as edit returns their values, to the
	// database at path, which is created if it does not exist. The provider of the
	// tool reads it. The error is Conflict if the tool modifies its database,
	// Unavailable if that can't be read.
	Extract(ctx context.Context, path string, edit Edit) error
}

// A Scattered Reader reads a thread that is in many files.
type Scattered interface {
	// Files returns the files of the thread besides its source. None has parts of
	// other threads.
	Files() []string
}

// An Edit returns what replaces a value, which is nil, an int64, a float64, a string
// or a []byte. row is the number of its row.
type Edit func(row int, value any) any

// A Driver describes a tool and opens its Provider.
type Driver struct {
	Name string

	// Env is the environment variable that sets the directories to search. It is
	// used in hints.
	Env string

	// ID reports whether s has the form of this tool's IDs, and returns its
	// canonical form.
	ID func(s string) (id string, ok bool)

	// Roots returns the directories in which the program keeps threads. They need
	// not exist. An empty variable is treated as unset.
	Roots func(getenv func(string) string, home string) []string

	// Beside are the names of files that a transcript needs, relative to its
	// directory. They need not exist. * is the name of the transcript without its
	// extension.
	Beside []string

	// Database is the name of a copied database in a root, by which the provider
	// finds it. If it is "", it is the name of the original.
	Database string

	// Unverified says why threads of the tool may be read wrongly: the provider was
	// never tested with a file that the tool wrote for a person. "" otherwise.
	Unverified string

	// Resume is the command that continues a thread in its directory, without the ID at its end.
	// It is nil if the tool has none.
	Resume []string

	// Open returns a provider for these directories. Directories that do not
	// exist contain no threads.
	Open func(roots []string) (Provider, error)
}

// UUIDs is the Driver.ID of tools whose IDs are UUIDs.
func UUIDs(s string) (string, bool) { return strings.ToLower(s), IsUUID(s) }

// A Set resolves URIs with a list of drivers. It opens each provider when it is
// first used, and may be used by several goroutines.
type Set struct {
	drivers []Driver
	getenv  func(string) string
	home    string

	fallback func(context.Context, URI) (*View, error)
	observer Observer

	opened *providers
}

// providers are those that a set has opened.
type providers struct {
	mu   sync.Mutex
	list map[string]Provider
}

// NewSet returns a set of these drivers. The directories they search depend on
// the environment and on the user's home directory.
func NewSet(drivers []Driver, getenv func(string) string, home string) *Set {
	return &Set{drivers: drivers, getenv: getenv, home: home, opened: &providers{list: map[string]Provider{}}}
}

// With returns a set with other drivers for the same tools and no fallback.
func (s *Set) With(change func(Driver) Driver) *Set {
	drivers := make([]Driver, len(s.drivers))
	for i, d := range s.drivers {
		drivers[i] = change(d)
	}
	return NewSet(drivers, s.getenv, s.home)
}

// Driver returns the driver with this name and the directories that it searches.
func (s *Set) Driver(name string) (d Driver, roots []string, ok bool) {
	i := slices.IndexFunc(s.drivers, func(d Driver) bool { return d.Name == name })
	if i < 0 {
		return Driver{}, nil, false
	}
	return s.drivers[i], s.drivers[i].Roots(s.getenv, s.home), true
}

// Unverified returns Driver.Unverified of a provider, "" for one that the set lacks.
func (s *Set) Unverified(provider string) string {
	d, _, _ := s.Driver(provider)
	return d.Unverified
}

// Resume returns the command that continues t in its directory, nil if there is none: its program
// has none, it is a subagent, or a copy of a transcript that was removed.
func (s *Set) Resume(t *Thread) []string {
	d, _, _ := s.Driver(t.Provider)
	if d.Resume == nil || t.IsAgent() || !t.KeptAt.IsZero() {
		return nil
	}
	return append(slices.Clone(d.Resume), t.ID)
}

// Names returns the names of the providers, in the order of their drivers.
func (s *Set) Names() []string {
	var names []string
	for _, d := range s.drivers {
		names = append(names, d.Name)
	}
	return names
}

// Roots returns the directories that are searched for threads.
func (s *Set) Roots() (dirs []string) {
	for _, d := range s.drivers {
		dirs = append(dirs, d.Roots(s.getenv, s.home)...)
	}
	return dirs
}

// Provider opens the provider with this name. The error is Unsupported if there
// is none.
func (s *Set) Provider(name string) (Provider, error) {
	i := slices.IndexFunc(s.drivers, func(d Driver) bool { return d.Name == name })
	if i < 0 {
		return nil, handoff.E("thread", name, handoff.Unsupported, errors.New("unknown provider"),
			handoff.Advice("the providers are "+strings.Join(s.Names(), ", ")))
	}
	s.opened.mu.Lock()
	defer s.opened.mu.Unlock()
	if p := s.opened.list[name]; p != nil {
		return p, nil
	}
	p, err := s.drivers[i].Open(s.drivers[i].Roots(s.getenv, s.home))
	if err != nil {
		return nil, err
	}
	s.opened.list[name] = p
	return p, nil
}

// SetFallback sets what Open asks for a thread whose transcript is missing. find
// returns nil, nil if it has none either. Call it before the first Open.
func (s *Set) SetFallback(find func(context.Context, URI) (*View, error)) { s.fallback = find }

// Observed returns the same set with an observer, which concludes the states of the
// threads that Open returns, and of their subagents. Without one, states are those of
// the transcripts.
func (s *Set) Observed(o Observer) *Set {
	observed := *s
	observed.observer = o
	return &observed
}

// A View is what a URI identifies.
type View struct {
	URI    URI     // in canonical form, with provider
	Thread *Thread // the thread, or the parent of Agent
	Agents []Agent // the subagents of Thread; nil until LoadAgents
	Agent  *Agent  // the subagent that the URI names, or nil

	Chain // of Thread, if the caller of Open has set it

	provider Provider
	observer Observer
}

// Open resolves u. The error is NotFound, Unsupported, Invalid, or Conflict if
// several providers have a bare ID. An unknown subagent is not an error: its
// status is NotFound.
func (s *Set) Open(ctx context.Context, u URI) (*View, error) {
	v, err := s.open(ctx, u)
	if err == nil && v != nil {
		v.observe(s.observer)
	}
	return v, err
}

func (s *Set) open(ctx context.Context, u URI) (*View, error) {
	v, err := s.find(ctx, u)
	if errors.Is(err, handoff.Unavailable) && u.Agent != "" {
		if child := s.orphan(ctx, u); child != nil {
			return child, nil
		}
	}
	if s.fallback != nil && (errors.Is(err, handoff.NotFound) || errors.Is(err, handoff.Unavailable)) {
		if v, failed := s.fallback(ctx, u); v != nil || failed != nil {
			return v, failed
		}
	}
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
		v.Agent = v.unknownAgent(ctx, v.URI.Agent)
	}
	v.URI.Agent = v.Agent.ID
	return v, nil
}

// LoadAgents sets v.Agents, unless it is set.
func (v *View) LoadAgents(ctx context.Context) (err error) {
	if v.Agents == nil {
		v.Agents, err = v.provider.Agents(ctx, v.Thread)
		if v.Agents == nil {
			v.Agents = []Agent{}
		}
		v.observer.agents(v.Thread, v.Agents)
	}
	return err
}

// observe has an observer conclude the states of the thread and its subagents.
func (v *View) observe(o Observer) {
	v.observer = o
	v.Thread.observe(o, time.Time{})
	if v.Agents != nil {
		o.agents(v.Thread, v.Agents)
	}
}

// AllAgents returns the subagents of v.Thread at all levels, as Descendants does.
func (v *View) AllAgents(ctx context.Context) ([]Agent, error) {
	list, err := Descendants(ctx, v.provider, v.Thread)
	v.observer.agents(v.Thread, list)
	return list, err
}

// pick returns the agent with this ID, else the only one with this name or alias:
// an exact match, else one that differs in case.
func (v *View) pick(name string) *Agent {
	if i := slices.IndexFunc(v.Agents, func(a Agent) bool { return a.ID == name }); i >= 0 {
		return &v.Agents[i]
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		var found *Agent
		for i := range v.Agents {
			if !v.Agents[i].named(name, same) {
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

// unknownAgent returns an agent that the thread does not mention.
func (v *View) unknownAgent(ctx context.Context, id string) *Agent {
	a := &Agent{ID: id, URI: v.URI.Child(id),
		State: State{Status: NotFound, Source: Inferred,
			Evidence: "neither the parent's nor a child's transcript mentions it"}}
	if t, err := v.provider.Thread(ctx, id); err == nil && t.ID != v.Thread.ID {
		a.Evidence = []string{fmt.Sprintf("thread %s exists, but no record links it to this thread", t.URI())}
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
	u.Thread, t.Unverified = t.ID, s.Unverified(u.Provider)
	return &View{URI: u, Thread: t, provider: p}, nil
}

// findAnywhere asks every provider whose IDs have the form of u's. A provider
// that can't be read is ignored if another one has the ID.
func (s *Set) findAnywhere(ctx context.Context, u URI) (*View, error) {
	fail := func(kind handoff.Kind, hint, format string, args ...any) error {
		return handoff.E("thread", u.Thread, kind, fmt.Errorf(format, args...), handoff.Advice(hint))
	}
	if slices.Contains(s.Names(), u.Thread) {
		return nil, fail(handoff.Unsupported, uriHint, "this is a provider, not a thread")
	}
	var found []*View
	var failed error
	var asked []string // environment variables
	var near []string  // threads with a similar ID
	for _, d := range s.drivers {
		if _, ok := d.ID(u.Thread); !ok {
			continue
		}
		asked = append(asked, d.Env)
		in := u
		in.Provider = d.Name
		switch v, err := s.find(ctx, in); {
		case err == nil:
			found = append(found, v)
		case errors.Is(err, handoff.NotFound):
			near = append(near, similarIn(err)...)
		default:
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
		return nil, fail(handoff.Conflict, "include the provider, as in "+names[0], "several providers have this ID: %s",
			strings.Join(names, ", "))
	case failed != nil:
		return nil, failed
	case asked == nil:
		hint := uriHint + "; the providers are " + strings.Join(s.Names(), ", ")
		return nil, fail(handoff.Invalid, withSimilar(s.similarTo(ctx, u), hint), "not an ID of any provider")
	}
	return nil, fail(handoff.NotFound, withSimilar(near, searchHint(asked...)), "no provider has this thread")
}
