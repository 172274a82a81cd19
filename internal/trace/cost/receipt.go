package cost

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// NewReceipt returns the receipt of leaves. Those about which nothing is known but
// their artifacts are not tasks.
func NewReceipt(leaves []Leaf) trace.Receipt {
	r := trace.Receipt{Tasks: []trace.Task{}}
	var seen trace.Usage
	for _, l := range leaves {
		if l.Portions == nil && len(l.Units) == 0 {
			continue
		}
		for _, m := range l.Artifacts {
			r.Artifacts += m.Count
			if m.Artifact != nil {
				r.Published = append(r.Published, *m.Artifact)
			}
		}
		t := l.task()
		r.Tasks = append(r.Tasks, t)
		Add(&r.Usage, t.Usage)
		Add(&seen, *cmp.Or(t.Disputed, &t.Usage))
		if t.Disputed != nil {
			r.Disputed = &seen
		}
	}
	complete(&r.Usage)
	order.Sort(r.Tasks, func(a, b trace.Task) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Work, b.Work))
	})
	return r
}

// ReceiptOf returns the receipt of an artifact: the leaves that count to it.
func ReceiptOf(id string, leaves []Leaf) trace.Receipt {
	own := slices.DeleteFunc(slices.Clone(leaves), func(l Leaf) bool {
		return !slices.ContainsFunc(l.credited, func(m *Made) bool { return m.id() == id })
	})
	r := NewReceipt(own)
	for _, row := range Summarize(ByArtifact, own).Rows {
		if row.Key == id {
			r.Share = &row.Amount
		}
	}
	return r
}

// task returns what is known of a leaf.
func (l Leaf) task() trace.Task {
	t := trace.Task{Thread: l.Thread, Agent: l.Agent, Status: string(l.Status), StartedAt: l.Started, EndedAt: l.Ended,
		Usage: l.Amount()}
	complete(&t.Usage)
	for _, m := range l.Artifacts {
		if m.Artifact != nil {
			t.Artifacts = append(t.Artifacts, m.Artifact.ID)
		}
	}
	if seen, differs := l.Disputed(); differs {
		t.Disputed = &seen
	}
	for i, u := range l.Units {
		if i == 0 {
			t.Work, t.Name = u.ID, u.Name
		}
		t.Status = u.status()
		t.Models = append(t.Models, u.Model.ID)
	}
	for _, p := range l.Portions {
		t.Models = append(t.Models, p.Name)
	}
	slices.Sort(t.Models)
	t.Models = slices.DeleteFunc(slices.Compact(t.Models), func(name string) bool { return name == "" })
	if !t.StartedAt.IsZero() && t.EndedAt.After(t.StartedAt) {
		t.DurationMS = t.EndedAt.Sub(t.StartedAt).Milliseconds()
	}
	return t
}

// status returns how work ended, or that it has not.
func (u Unit) status() string {
	switch {
	case u.IsError:
		return "failed"
	case u.Ended == 0:
		return cmp.Or(u.Status, handoff.Running)
	}
	return cmp.Or(u.Status, "completed")
}

// complete sets the completeness of an amount about which nothing is known.
func complete(a *trace.Usage) {
	if a.Completeness == "" {
		a.Completeness = thread.NoUsage
	}
}

// PartOf returns the work that a producer did or that was done in the threads with the
// given URIs, with everything inside that work.
func PartOf(ctx context.Context, index interface {
	handoff.WorkLister
	Work(ctx context.Context, harness, id string) (handoff.Work, error)
}, p handoff.Producer, uris []string) (part []handoff.Work, err error) {
	known := map[workID]bool{}
	add := func(list []handoff.Work, err error) error {
		for _, w := range list {
			if id := (workID{w.Harness, w.ID}); !known[id] {
				known[id] = true
				part = append(part, w)
			}
		}
		return err
	}
	if p.WorkID != "" {
		w, err := index.Work(ctx, p.Harness, p.WorkID)
		switch {
		case err == nil:
			add([]handoff.Work{w}, nil)
		case !errors.Is(err, handoff.NotFound):
			return nil, err
		}
	}
	for _, uri := range uris {
		if err := add(index.WorkIn(ctx, uri)); err != nil {
			return nil, err
		}
	}
	for i := 0; i < len(part); i++ {
		if err := add(index.WorkUnder(ctx, part[i].Harness, part[i].ID)); err != nil {
			return nil, err
		}
	}
	return part, nil
}

// Names returns the URIs that records may have of threads and subagents that were read,
// sorted.
func Names(list []Conversation) []string {
	uris := slices.Collect(maps.Keys(namesOf(list)))
	for _, c := range list {
		uris = append(uris, c.URI)
	}
	slices.Sort(uris)
	return slices.Compact(uris)
}

// maxAbove is how many threads above a subagent are looked for.
const maxAbove = 100

// Root returns the URI of the main agent that a thread belongs to, as far up as threads
// can be opened.
func Root(ctx context.Context, set *thread.Set, uri string) string {
	root := uri
	for range maxAbove {
		u, err := thread.ParseURI(uri)
		if err != nil {
			return root
		}
		v, err := set.Open(ctx, u.Main())
		if err != nil {
			return root
		}
		if root = u.Main().String(); v.Thread.Parent == "" {
			return root
		}
		uri = thread.URI{Provider: u.Provider, Thread: v.Thread.Parent}.String()
	}
	return root
}

// Threads returns the URIs of the threads in which work was done and artifacts
// were published. A subagent comes after its main agent.
func Threads(work []handoff.Work, artifacts []handoff.Artifact) (uris []string) {
	for _, w := range work {
		uris = append(uris, w.Thread)
	}
	for _, a := range artifacts {
		uris = append(uris, a.Producer.Thread)
	}
	slices.Sort(uris)
	return slices.DeleteFunc(slices.Compact(uris), func(uri string) bool { return uri == "" })
}

// maxRead is how many threads are read for a receipt: the records that name
// them may be forged.
const maxRead = 50

// Read returns the threads with the given URIs, the first 50, and their
// subagents at all levels. Those that can't be read are left out.
func Read(ctx context.Context, set *thread.Set, uris []string) (list []Conversation) {
	known := map[string]bool{}
	add := func(c Conversation) {
		if !known[c.URI] {
			known[c.URI] = true
			list = append(list, c)
		}
	}
	for _, uri := range uris[:min(len(uris), maxRead)] {
		u, err := thread.ParseURI(uri)
		if err != nil || known[uri] {
			continue
		}
		v, err := set.Open(ctx, u)
		if err != nil {
			continue
		}
		if v.Agent != nil {
			add(ofAgent(ctx, *v.Agent, ""))
			continue
		}
		if load(ctx, v.Thread) != nil {
			continue
		}
		agents, err := v.AllAgents(ctx)
		if err != nil {
			continue
		}
		main := v.URI.String()
		add(ofThread(main, v.Thread))
		for _, a := range agents {
			add(ofAgent(ctx, a, main))
		}
	}
	agents := map[string]bool{}
	for _, c := range list {
		agents[c.Self] = agents[c.Self] || c.Main != ""
	}
	// read again as a subagent
	return slices.DeleteFunc(list, func(c Conversation) bool { return c.Main == "" && agents[c.Self] })
}

func ofThread(uri string, t *thread.Thread) Conversation {
	return Conversation{URI: uri, Self: t.URI().String(), Shell: shellOf(t),
		Requests: t.Requests, Completeness: t.Usage.Completeness,
		Reason: t.Usage.Reason, Started: t.Started, Last: cmp.Or(t.Last, t.Modified), Status: t.State.Status}
}

// shellOf returns the URI by which the shells of a subagent name it, "" for its own.
func shellOf(t *thread.Thread) string {
	if t.ShellID == "" {
		return ""
	}
	return thread.URI{Provider: t.Provider, Thread: t.ShellID}.String()
}

// ofAgent returns the thread of a subagent of the one with the URI main. Its
// usage is not known if it has no transcript that can be read.
func ofAgent(ctx context.Context, a thread.Agent, main string) Conversation {
	self := thread.URI{Provider: a.URI.Provider, Thread: a.ID}.String()
	c := Conversation{URI: a.URI.String(), Self: self, Last: a.Updated, Completeness: thread.NoUsage,
		Reason: "the transcript of a subagent is missing"}
	if a.Thread != nil && load(ctx, a.Thread) == nil {
		c = ofThread(c.URI, a.Thread)
	}
	if a.Thread != nil && a.Thread.Parent != "" {
		c.By = thread.URI{Provider: a.URI.Provider, Thread: a.Thread.Parent}.String()
	}
	c.Agent, c.Main, c.Status = a.ProducerAgent(), main, cmp.Or(a.State.Status, c.Status)
	return c
}

// load reads a transcript, unless it has been read.
func load(ctx context.Context, t *thread.Thread) error {
	if t.Loaded() {
		return nil
	}
	return t.Load(ctx)
}
