package work

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/trace/cost"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// CostOptions select what Cost counts, and how it groups that.
type CostOptions struct {
	// Name selects usage: that of a session, thread, agent or program, or of a row of another
	// group; see Units.Cost. "" is all.
	Name string
	By   string // one of CostGroups, by default session; of what Name selects, thread or its own group
	// a time, see ParseTime of package workspace: requests, ends of work and artifacts at or after, before
	Since, Until string
	Prices       string // a file with prices that count before those of handoff
	NoIndex      bool   // read the transcripts, not the index of threads
	Change       bool   // compare the total with that of the period before, of the same length
	Daily        int    // with the days of so many rows, of the others together, and of all

	// Places are directories with costs of their own: a thread in one of them that is inside
	// this repository does not count.
	Places    []string
	Elsewhere bool // only threads that are in none of Places
}

// CostGroups returns what Cost can group by.
func CostGroups() []string { return slices.Clone(cost.Groups) }

// A CostReport has the usage of each group, the most expensive first. The rows and
// Unattributed, which is what belongs to no group, add up to Total.
type CostReport struct {
	By           string            `json:"by"`
	Rows         []trace.CostRow   `json:"rows"`
	Unattributed trace.CostRow     `json:"unattributed"`
	Total        trace.CostRow     `json:"total"`
	Prices       PriceSource       `json:"prices"`
	Change       *trace.CostChange `json:"change,omitempty"` // of Total, if it was asked for

	// Chain is what one thread used together with the threads that it continues, nil if there are none.
	Chain    *trace.Usage  `json:"withContinued,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	Others   trace.CostRow `json:"-"` // the rows together that have no days of their own
}

// A PriceSource is where prices are from, and their date.
type PriceSource struct {
	Source string `json:"source"`
	Date   string `json:"date"`
}

// Cost reports what the threads of this repository, and the work that
// harnesses reported, used and cost. Each token is counted once, also that of
// subagents. Usage that a harness reported is preferred to that of the transcript.
//
// A name is what another operation returned: the ref of an artifact, a session, the URI of
// a thread, an issue, an agent, a program, a model, work, or a field of artifacts, such as
// a channel or a task.
//
// Kinds: Invalid (the group, a time, the prices, a change without a start), NotFound (the file with prices; nothing
// with costs has the name).
func (u Units) Cost(ctx context.Context, o CostOptions) (CostReport, error) {
	if o.Change && o.Since == "" {
		return CostReport{}, errNoStart()
	}
	named, err := u.named(ctx, &o)
	if err != nil {
		return CostReport{}, err
	}
	if !slices.Contains(cost.Groups, o.By) {
		return CostReport{}, handoff.E("cost", o.By, handoff.Invalid, errors.New("unknown group"),
			handoff.Advice("group by "+strings.Join(cost.Groups, ", ")))
	}
	prices, err := cost.OpenPrices(u.c.Prices())
	if err == nil {
		err = prices.Prefer(u.c.Path(o.Prices), o.Prices)
	}
	if err != nil {
		return CostReport{}, err
	}
	s := cost.Sources{Prices: prices}
	warnings, err := u.costSources(ctx, o, &s)
	if err != nil {
		return CostReport{}, err
	}
	leaves := cost.Leaves(s)
	session := u.sessions(ctx, len(leaves))
	if err := u.place(ctx, leaves, s, session); err != nil {
		return CostReport{}, err
	}
	var only []string
	var chain *trace.Usage
	if o.Name != "" {
		var missing []string
		if chain, missing, err = u.chain(ctx, named, leaves); err != nil {
			return CostReport{}, err
		}
		warnings = append(warnings, missing...)
		if leaves = cost.Of(named.By, named.Keys, leaves); o.By == named.By && o.By != cost.ByThread {
			only = append([]string{}, named.Keys...)
		}
		if len(leaves) == 0 && named.What == "" {
			return CostReport{}, unknown(o.Name)
		}
		if len(leaves) == 0 {
			warnings = append(warnings, "no usage of "+o.Name+" is known")
		}
	}
	sum := cost.Summarize(o.By, leaves, only...)
	sum.Divide(o.By, leaves, o.Daily, only...)
	r := CostReport{By: o.By, Rows: sum.Rows, Unattributed: sum.Unattributed, Total: sum.Total, Others: sum.Others,
		Chain: chain, Prices: PriceSource{prices.First().Source, prices.First().Date},
		Warnings: append(warnings, sum.Warnings(leaves)...)}
	nameRows(o.By, r.Rows, session)
	if o.Change {
		if r.Change, err = u.change(ctx, o, r.Total.Amount); err != nil {
			return CostReport{}, err
		}
	}
	return r, ctx.Err()
}

// chain returns what a thread used together with those that it continues, nil if it continues none. The
// warnings are about one that is not there.
func (u Units) chain(ctx context.Context, m Meaning, leaves []cost.Leaf) (_ *trace.Usage, warnings []string,
	err error) {
	if m.By != cost.ByThread || len(m.Keys) != 1 {
		return nil, nil, nil
	}
	uri, err := thread.ParseURI(m.Keys[0])
	if err != nil || uri.Agent != "" {
		return nil, nil, err
	}
	before, rest, err := u.threads.Before(ctx, uri)
	missing := rest.Thread != ""
	if missing {
		warnings = []string{"a thread that it continues is not on this machine: " + rest.String()}
	}
	if err != nil || len(before) == 0 {
		return nil, warnings, err
	}
	keys := slices.Clone(m.Keys)
	for _, b := range before {
		keys = append(keys, b.URI.String())
		missing = missing || len(cost.Of(m.By, keys[len(keys)-1:], leaves)) == 0
	}
	sum := cost.Summarize(m.By, cost.Of(m.By, keys, leaves)).Total.Amount
	if missing && sum.Completeness == thread.Exact {
		sum.Completeness, sum.Reason = thread.LowerBound, "a thread that it continues is not counted here"
	}
	return &sum, warnings, nil
}

// nameRows sets the names of rows whose keys are IDs.
func nameRows(by string, rows []trace.CostRow, session findSession) {
	for i, row := range rows {
		switch by {
		case cost.BySession:
			if d, err := session(row.Key); err == nil {
				rows[i].Name = d.name
			}
		case cost.ByThread:
			rows[i].Name = strings.Join(row.Agents, " ")
		}
	}
}

// undivided are the groups in which all that a thread used belongs to one row.
var undivided = []string{cost.BySession, cost.ByThread, cost.ByAgent, cost.ByProgram}

// named returns what the name in options means, and sets their group if they have none.
func (u Units) named(ctx context.Context, o *CostOptions) (m Meaning, err error) {
	if o.Name == "" {
		o.By = cmp.Or(o.By, cost.BySession)
		return m, u.c.Hub.Closed()
	}
	if m, err = u.names.Named(ctx, o.Name); err != nil {
		return m, err
	}
	if m.What == "" { // a model of transcripts, if anything
		m.By, m.Keys = cost.ByModel, []string{o.Name}
	}
	own := m.By
	if slices.Contains(undivided, own) {
		own = cost.ByThread
	}
	switch {
	case m.By == "":
		return m, handoff.E("cost", o.Name, handoff.NotFound, errors.New("is "+m.What), m.Show)
	case o.By != "" && own != cost.ByThread && o.By != m.By && m.What != "":
		return m, handoff.E("cost", o.Name, handoff.Invalid, errors.New("is "+m.What+", which is not grouped by "+o.By),
			handoff.Suggest("show what it cost", handoff.ActionCost, o.Name))
	}
	o.By = cmp.Or(o.By, own)
	return m, nil
}

// unknown is the error about a name of nothing.
func unknown(name string) error {
	return handoff.E("cost", name, handoff.NotFound, errors.New("nothing has this name"),
		handoff.Suggest("show what sessions cost", handoff.ActionCosts, cost.BySession))
}

// costSources adds to s what was active in the time of o.
func (u Units) costSources(ctx context.Context, o CostOptions, s *cost.Sources) (warnings []string, err error) {
	if err := u.c.Hub.Closed(); err != nil {
		return nil, err
	}
	since, until, err := config.ParsePeriod(o.Since, o.Until, u.c.Now())
	if err != nil {
		return nil, err
	}
	inTime := func(t time.Time) bool { return !t.Before(since) && (until.IsZero() || t.Before(until)) }
	if !since.IsZero() || !until.IsZero() {
		s.In = inTime
	}
	q := threadindex.Query{Since: since} // a thread that goes on after until has requests before it
	if q.In = threadindex.Nearest(u.c.Dirs.Worktrees(), o.Places); o.Elsewhere {
		known := threadindex.In(o.Places...)
		q.In = func(dir string) bool { return !known(dir) }
	}
	warnings, err = u.all.Archive(o.NoIndex).EachUsage(ctx, q, func(t threadindex.ThreadUsage) error {
		s.Threads = append(s.Threads, cost.Conversation{URI: t.URI, Self: t.Self, Shell: t.Shell, Agent: t.Agent,
			Main: t.Main, By: t.By, Started: t.Started, Last: t.Modified,
			Requests: t.Requests, Completeness: t.Completeness, Reason: t.Reason, Missing: t.Missing})
		return nil
	})
	if err == nil && !o.Elsewhere {
		var more []string
		more, err = u.logged(ctx, o, since, until, s)
		warnings = append(warnings, more...)
	}
	s.AddMissing("the transcript of a thread is missing, or of another directory or time")
	return warnings, err
}

// logged adds to s the work of the log, and the artifacts of a time.
func (u Units) logged(ctx context.Context, o CostOptions, since, until time.Time, s *cost.Sources) (
	warnings []string, err error) {
	if s.Work, err = u.c.Hub.WorkIn(ctx, ""); err != nil {
		return nil, err
	}
	return u.published(ctx, o, since, until, s)
}

// published adds to s the artifacts of a time. Only labels need more than the index adds up.
func (u Units) published(ctx context.Context, o CostOptions, since, until time.Time, s *cost.Sources) (
	warnings []string, err error) {
	q := handoff.ProductionQuery{Since: since, Until: until}
	if s.Artifacts, warnings, err = u.attribution().Reassigned(ctx, since, until); err != nil {
		return nil, err
	}
	for _, a := range s.Artifacts {
		q.Without = append(q.Without, a.ID)
	}
	switch o.By {
	case cost.ByChannel, cost.ByDay, cost.ByRevision, cost.ByArtifact, cost.ByTag, cost.ByLabel:
		q.By = o.By
	case cost.ByWork, cost.ByModel: // of which a harness can report several in a thread
		q.By = "work"
	}
	s.Productions, err = u.c.Hub.Productions(ctx, q)
	if !slices.ContainsFunc(s.Productions, func(p handoff.Production) bool { return p.Thread != "" }) {
		warnings = nil
	}
	if err != nil || o.By != cost.ByLabel {
		return warnings, err
	}
	labelled := slices.Clone(q.Without)
	for _, p := range s.Productions {
		if len(p.Values) > 0 {
			labelled = append(labelled, p.Key)
		}
	}
	known := map[string]handoff.Artifact{}
	labels := cost.Labels(labelled, func(id string) (handoff.Artifact, bool) {
		if _, ok := known[id]; !ok {
			known[id], _ = u.c.Hub.Artifact(ctx, id) // one of another log is not there
		}
		return known[id], known[id].ID != ""
	})
	if q.Apart = slices.Collect(maps.Keys(labels)); len(q.Apart) > len(labelled) { // with their inputs
		if s.Productions, err = u.c.Hub.Productions(ctx, q); err != nil {
			return nil, err
		}
	}
	for i, p := range s.Productions {
		s.Productions[i].Values = labels[p.Key]
	}
	return warnings, ctx.Err()
}

// place corrects the sessions of leaves. A thread belongs to the session that it was
// started in, not to a run that it or a subagent of it started: what it did in that run is
// counted once, where the thread is. In a period, records before it name the sessions of the
// others.
func (u Units) place(ctx context.Context, leaves []cost.Leaf, s cost.Sources, find findSession) error {
	var err error
	known := map[[2]string]string{}
	root := rootOf(s.Threads)
	outside := func(session, main string) (string, error) {
		key := [2]string{session, main}
		if _, ok := known[key]; !ok {
			found, err := find.outside(session, main, root)
			if err != nil {
				return "", err
			}
			known[key] = found
		}
		return known[key], nil
	}
	of := map[string]string{}  // the sessions of main agents, which come first
	for _, w := range s.Work { // of one without usage in the time
		if session := cmp.Or(w.SessionID, w.RunID); session != "" && w.Thread != "" && s.In != nil {
			if of[w.Thread], err = outside(session, root(w.Thread)); err != nil {
				return err
			}
		}
	}
	order.Sort(leaves, func(a, b cost.Leaf) int {
		return cmp.Compare(min(1, len(a.Main)), min(1, len(b.Main)))
	})
	for i := range leaves {
		l := &leaves[i]
		main := cmp.Or(l.Main, root(l.Thread))
		if s.In != nil {
			if err = u.recorded(ctx, l, main); err != nil {
				return err
			}
		}
		inside := l.Session
		if l.Session, err = outside(inside, main); err != nil {
			return err
		}
		if l.Main == "" && l.Session != inside {
			l.Agent = "" // of the run, which is another agent's
		}
		if l.Main == "" && l.Session != "" {
			of[l.Thread] = l.Session
		}
		l.Session = cmp.Or(l.Session, of[l.Main])
	}
	return nil
}

// recorded sets the session of a leaf without one to that of an artifact of any time that
// its thread, or else the main agent of it, published.
func (u Units) recorded(ctx context.Context, l *cost.Leaf, main string) error {
	for _, uri := range []string{l.Thread, main} {
		if l.Session != "" || uri == "" {
			break
		}
		q := handoff.ArtifactQuery{Producer: map[string]string{"thread": uri}, IncludeInactive: true, Limit: 1}
		page, err := u.c.Hub.Artifacts(ctx, q)
		if err != nil {
			return err
		}
		for _, a := range page.Artifacts {
			l.Session, l.Agent = cmp.Or(a.Producer.Session, a.Producer.RunID), cmp.Or(l.Agent, a.Producer.Agent)
		}
	}
	return nil
}

// findSession returns what a session recorded, nothing if it is not recorded.
type findSession func(id string) (placed, error)

// placed is where a session belongs.
type placed struct{ name, parent, thread string }

func placedIn(s handoff.Session) placed { return placed{s.Name, s.Parent, s.Producer.Thread} }

// sessions returns what finds sessions, about n of them. Beyond a few, one list of all takes
// less time.
func (u Units) sessions(ctx context.Context, n int) findSession {
	const few = 200
	if n <= few {
		return func(id string) (placed, error) {
			s, err := u.known.Session(ctx, id)
			if errors.Is(err, handoff.NotFound) { // one that only other records name
				return placed{}, nil
			}
			return placedIn(s), err
		}
	}
	var all map[string]placed
	return func(id string) (placed, error) {
		if all == nil {
			page, err := u.c.Hub.Sessions(ctx, handoff.SessionQuery{IncludeRuns: true, IncludeArchived: true})
			if err != nil {
				return placed{}, err
			}
			all = map[string]placed{}
			for _, s := range page.Sessions {
				all[s.ID] = placedIn(s)
			}
		}
		return all[id], nil
	}
}

// outside returns the session or run around those that a main agent or a subagent of it
// started.
func (find findSession) outside(session, main string, root func(string) string) (string, error) {
	for most := 100; session != "" && main != "" && most > 0; most-- {
		s, err := find(session)
		if err != nil {
			return "", err
		}
		if root(s.thread) != main {
			break
		}
		session = s.parent
	}
	return session, nil
}

// rootOf returns what returns the URI of the main agent of a thread, "" for none.
func rootOf(threads []cost.Conversation) func(uri string) string {
	roots := map[string]string{}
	for _, c := range threads {
		if c.Main != "" {
			roots[c.URI], roots[c.Self] = c.Main, c.Main
		}
	}
	return func(uri string) string {
		main := mainOf(uri)
		return cmp.Or(roots[uri], roots[main], main)
	}
}

// mainOf returns the URI of the main agent of a thread, "" for none.
func mainOf(uri string) string {
	u, err := thread.ParseURI(uri)
	if err != nil {
		return ""
	}
	return u.Main().String()
}

// A Spending is what was used in a time.
type Spending struct {
	// By the session or else the main thread that it belongs to. Usage that belongs to
	// neither has the key "".
	By   map[string]trace.Usage
	Work []handoff.Work // of the log, of any time
}

// Spent returns what was used since a time. known are sessions that the caller has read, by ID.
func (u Units) Spent(ctx context.Context, since time.Time, known map[string]handoff.Session) (Spending, []string,
	error) {
	prices, err := cost.OpenPrices(u.c.Prices())
	if err != nil {
		return Spending{}, nil, err
	}
	s := cost.Sources{Prices: prices}
	warnings, err := u.costSources(ctx, CostOptions{By: cost.BySession, Since: since.Format(time.RFC3339Nano)}, &s)
	if err != nil {
		return Spending{}, nil, err
	}
	leaves := cost.Leaves(s)
	other := u.sessions(ctx, len(leaves))
	session := func(id string) (placed, error) {
		if s, ok := known[id]; ok {
			return placedIn(s), nil
		}
		return other(id)
	}
	if err := u.place(ctx, leaves, s, session); err != nil {
		return Spending{}, nil, err
	}
	spent := map[string]trace.Usage{}
	for _, l := range leaves {
		key := cmp.Or(l.Session, mainOf(l.Thread))
		sum, ok := spent[key]
		if !ok {
			sum.Completeness = thread.Exact
		}
		cost.Add(&sum, l.Amount())
		spent[key] = sum
	}
	return Spending{spent, s.Work}, warnings, ctx.Err()
}
