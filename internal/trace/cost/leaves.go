package cost

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

// Sources are what usage is known from.
type Sources struct {
	Work    []handoff.Work
	Threads []Conversation
	Prices  *Pricer
	In      func(time.Time) bool // the times whose usage counts, nil for all

	Artifacts   []handoff.Artifact
	Productions []handoff.Production // of other artifacts
}

// A Conversation is a transcript that was read: that of a thread, or of a
// subagent.
type Conversation struct {
	URI           string
	Self          string // URI without its main agent, by which a subagent may name itself
	Shell         string // another URI, by which its shells name it, "" for none
	Agent         string // name of the subagent, "" for the main agent
	Main          string // URI of the thread of a subagent
	By            string // URI of the thread or subagent that started it, "" for Main
	Started, Last time.Time
	Status        thread.Status
	Requests      []thread.Request
	Completeness  thread.Completeness
	Reason        string // why it is not exact
	Missing       bool   // its transcript is missing, or was not asked for
}

// AddMissing adds the threads that work and artifacts name and that are not among
// those that were read, with the reason.
func (s *Sources) AddMissing(reason string) {
	names, known := namesOf(s.Threads), map[string]bool{"": true}
	for _, c := range s.Threads {
		known[c.URI] = true
	}
	add := func(uri string) {
		if uri = cmp.Or(names[uri], uri); !known[uri] {
			known[uri] = true
			s.Threads = append(s.Threads, Conversation{URI: uri, Completeness: thread.NoUsage, Reason: reason, Missing: true})
		}
	}
	for _, w := range s.Work {
		if s.worked(w) {
			add(w.Thread)
		}
	}
	for _, a := range s.Artifacts {
		add(a.Producer.Thread)
	}
	for _, p := range s.Productions {
		add(p.Thread)
	}
}

// counts reports whether what was used at a time counts.
func (s Sources) counts(t time.Time) bool { return s.In == nil || s.In(t) }

// worked reports whether work counts: what was used for it was reported at its end.
func (s Sources) worked(w handoff.Work) bool { return s.counts(cmp.Or(w.EndedAt, w.StartedAt)) }

// used returns a transcript with the requests that count. One without a time was made
// when the transcript was last written, as far as anybody knows.
func (s Sources) used(c Conversation) Conversation {
	if s.In != nil {
		c.Requests = slices.DeleteFunc(slices.Clone(c.Requests), func(r thread.Request) bool {
			return !s.In(cmp.Or(r.At, c.Last))
		})
	}
	return c
}

// Leaves returns the usage of sources that counts, each token once, in no order. Work and
// threads of other times show which session and agent a thread belongs to.
func Leaves(s Sources) []Leaf {
	g := gathering{names: namesOf(s.Threads), byThread: map[string]*Leaf{}, byWork: map[workID]*Leaf{}}
	for _, c := range s.Threads {
		l, used := g.ofThread(c.URI), s.used(c)
		l.Agent, l.Status, l.Started, l.Ended, l.missing = c.Agent, c.Status, c.Started, c.Last, c.Missing
		l.Main = c.Main
		if len(used.Requests) > 0 || len(c.Requests) == 0 && (c.Missing || s.counts(c.Last)) {
			l.Portions = s.Prices.portions(used)
		}
	}
	for _, w := range s.Work {
		g.addWork(w, s.Prices, s.worked(w))
	}
	for _, a := range s.Artifacts {
		p := fold.ProductionOf(a, "work")
		g.add(&Made{&p, &a})
	}
	for i := range s.Productions {
		g.add(&Made{Production: &s.Productions[i]})
	}
	for _, c := range s.Threads { // a subagent works in the session of its main agent
		if l, main := g.ofThread(c.URI), g.byThread[c.Main]; l.Session == "" && main != nil {
			l.Session = main.Session
		}
	}
	g.credit(s.Threads)
	var leaves []Leaf
	for _, l := range g.list {
		if len(l.Portions)+len(l.Units)+len(l.Artifacts) == 0 {
			continue // it used nothing in the time that counts
		}
		order.Sort(l.Units, func(a, b Unit) int {
			return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
		})
		leaves = append(leaves, *l)
	}
	return leaves
}

// credit sets the artifacts that leaves count to: their own, or without any those of the
// nearest thread above a subagent, or work around it, that published some.
func (g *gathering) credit(list []Conversation) {
	above := map[*Leaf]*Leaf{}
	for _, c := range list {
		by := g.byThread[cmp.Or(g.names[c.By], c.By)]
		if by == nil {
			by = g.byThread[cmp.Or(g.names[c.Main], c.Main)]
		}
		above[g.ofThread(c.URI)] = by
	}
	for _, l := range g.list {
		slices.SortStableFunc(l.Artifacts, func(a, b *Made) int { return cmp.Compare(a.id(), b.id()) })
		if l.Thread == "" && len(l.Units) > 0 {
			above[l] = g.byWork[workID{l.Units[0].Harness, l.Units[0].Parent}]
		}
	}
	for _, l := range g.list {
		l.credited = l.Artifacts
		by := above[l]
		for range above { // transcripts may name each other
			if by == nil || len(l.credited) > 0 {
				break
			}
			l.credited, by = by.Artifacts, above[by]
		}
	}
}

// namesOf returns the URIs of subagents by the others that records have of them: that of
// the subagent alone, and that with its main agent.
func namesOf(list []Conversation) map[string]string {
	names := map[string]string{}
	for _, c := range list {
		if c.Main != "" && c.Self != "" {
			names[c.Self], names[c.Main+c.Self[strings.LastIndexByte(c.Self, '/'):]] = c.URI, c.URI
		}
		if c.Shell != "" {
			names[c.Shell] = c.URI
		}
	}
	return names
}

type gathering struct {
	list     []*Leaf
	names    map[string]string
	byThread map[string]*Leaf
	byWork   map[workID]*Leaf
}

func (g *gathering) ofThread(uri string) *Leaf {
	uri = cmp.Or(g.names[uri], uri)
	l := g.byThread[uri]
	if l == nil {
		l = &Leaf{Thread: uri}
		g.byThread[uri] = l
		g.list = append(g.list, l)
	}
	return l
}

// addWork adds work to its thread, and what was reported of it if it counts.
func (g *gathering) addWork(w handoff.Work, prices *Pricer, counts bool) {
	l := new(Leaf)
	if w.Thread != "" {
		l = g.ofThread(w.Thread)
	} else {
		g.list = append(g.list, l)
	}
	g.byWork[workID{w.Harness, w.ID}] = l
	if counts {
		l.Units = append(l.Units, Unit{w, OfWork(w, prices)})
	}
	l.in(cmp.Or(w.SessionID, w.RunID), w.Agent)
	if !w.StartedAt.IsZero() && (l.Started.IsZero() || w.StartedAt.Before(l.Started)) {
		l.Started = w.StartedAt
	}
	if at := cmp.Or(w.EndedAt, w.StartedAt); at.After(l.Ended) {
		l.Ended = at
	}
}

// add adds artifacts to the thread or work that published them. Those of which
// neither is known make a leaf without usage.
func (g *gathering) add(m *Made) {
	l := g.byWork[workID{m.Harness, m.WorkID}]
	if m.Thread != "" {
		l = g.ofThread(m.Thread)
	}
	if l == nil {
		l = new(Leaf)
		g.list = append(g.list, l)
	}
	l.Artifacts = append(l.Artifacts, m)
	l.in(cmp.Or(m.Session, m.RunID), m.Agent)
	if (l.Portions == nil || l.missing) && m.Newest.After(l.Ended) {
		l.Ended = m.Newest
	}
}

// in adds the session and the agent that a record names. The agent of another session than
// the first is not that of the leaf: a thread can start runs of other agents.
func (l *Leaf) in(session, agent string) {
	if l.Session == "" || session == "" || session == l.Session {
		l.Agent = cmp.Or(l.Agent, agent)
	}
	l.Session = cmp.Or(l.Session, session)
}
