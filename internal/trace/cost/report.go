package cost

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// A Leaf is usage that is counted once: that of a thread without its
// subagents, or of work that a harness reported without naming a thread.
type Leaf struct {
	Thread    string // URI of the thread, "" for none
	Main      string // URI of the thread that a subagent belongs to
	Units     []Unit // work of the thread, by start
	Session   string // of handoff, "" if none is known
	Agent     string
	Status    thread.Status // of the transcript
	Started   time.Time
	Ended     time.Time // or last active
	Portions  []Portion // of the transcript, nil for none
	Artifacts []*Made   // that it published

	credited []*Made // artifacts that its usage counts to
	missing  bool    // the transcript
}

// Made are artifacts of one leaf: one, or those that the index added up.
type Made struct {
	*handoff.Production
	Artifact *handoff.Artifact // nil if they were added up
}

// id returns the ID of an artifact, "" if several were added up by something else.
func (m *Made) id() string {
	if m.Artifact != nil {
		return m.Artifact.ID
	}
	return m.Key
}

// A Unit is work with what its harness reported.
type Unit struct {
	handoff.Work
	Reported trace.Usage
}

// Amount returns what the leaf used. A harness that reported usage is preferred to
// the transcript.
func (l Leaf) Amount() trace.Usage {
	a := l.reported()
	if a.TotalTokens != nil {
		return a
	}
	if a = l.transcript(); a.Completeness == "" && len(l.Units) > 0 {
		a.Completeness, a.Reason = thread.NoUsage, "the harness reported none"
	}
	return a
}

func (l Leaf) reported() (a trace.Usage) {
	for _, u := range l.Units {
		Add(&a, u.Reported)
	}
	return a
}

func (l Leaf) transcript() (a trace.Usage) {
	for _, p := range l.Portions {
		Add(&a, p.Amount)
	}
	return a
}

// disputed is the share of the total by which the usage of a harness and of a
// transcript may differ before both are shown.
const disputed = 0.05

// Disputed returns what the transcript says if the harness reported something else.
func (l Leaf) Disputed() (trace.Usage, bool) {
	t, r := l.transcript(), l.reported()
	if r.TotalTokens == nil || t.TotalTokens == nil {
		return trace.Usage{}, false
	}
	reported, seen := float64(*r.TotalTokens), float64(*t.TotalTokens)
	return t, math.Abs(reported-seen) > disputed*max(reported, seen)
}

// The groups of a Report.
const (
	BySession  = "session"
	ByThread   = "thread"
	ByAgent    = "agent"
	ByProgram  = "program"
	ByModel    = "model"
	ByChannel  = "channel"
	ByArtifact = "artifact"
	ByTag      = "tag"
	ByLabel    = "label"
	ByDay      = "day"
	ByWork     = "work"
	ByRevision = "revision"
	ByOutcome  = "outcome"
)

// Groups are what a Report can be grouped by.
var Groups = []string{BySession, ByThread, ByAgent, ByProgram, ByModel, ByChannel, ByArtifact, ByTag, ByLabel, ByDay,
	ByWork, ByRevision, ByOutcome}

// The rows of ByRevision, by what an artifact is, and of ByOutcome.
const (
	First         = "first" // the first revision
	Revision      = "revision"
	Succeeded     = "succeeded"
	Cancelled     = "cancelled"
	FailedUseful  = "failed with artifacts" // at least one is active
	FailedUseless = "failed without artifacts"
)

// A Report has the usage of groups, the most expensive first.
type Report struct {
	Rows         []trace.CostRow
	Unattributed trace.CostRow // what belongs to no group
	Total        trace.CostRow
	Others       trace.CostRow // rows that Divide adds up
}

// Summarize groups leaves. Usage of a leaf that belongs to several groups is shared
// equally: each artifact that a leaf counts to has an equal part of what it used, and each
// tag or label of an artifact an equal part of that. The rows and Unattributed add
// up to Total. With only, the report has just the rows with these keys.
func Summarize(by string, leaves []Leaf, only ...string) Report {
	r := summarize(by, leaves, only)
	seen, disputed := byTranscript(leaves)
	if disputed == nil {
		return r
	}
	other, of := summarize(by, seen, only), summarize(by, disputed, only)
	has := map[string]bool{}
	for _, row := range of.Rows {
		has[row.Key] = true
	}
	if of.Unattributed.Amount.TotalTokens != nil {
		r.Unattributed.Transcript = &other.Unattributed.Amount
	}
	for i, row := range r.Rows {
		if j := slices.IndexFunc(other.Rows, func(o trace.CostRow) bool { return o.Key == row.Key }); j >= 0 && has[row.Key] {
			r.Rows[i].Transcript = &other.Rows[j].Amount
		}
	}
	r.Total.Transcript = &other.Total.Amount
	return r
}

// byTranscript returns leaves with the usage of the transcript where that of the
// harness differs, and those of them that differ.
func byTranscript(leaves []Leaf) (seen, disputed []Leaf) {
	seen = leaves // a large log has many, and few differ
	for i, l := range leaves {
		if _, differs := l.Disputed(); !differs {
			continue
		}
		if disputed = append(disputed, l); len(disputed) == 1 {
			seen = slices.Clone(leaves)
		}
		l.Units = slices.Clone(l.Units)
		for j := range l.Units {
			l.Units[j].Reported = trace.Usage{}
		}
		seen[i] = l
	}
	return seen, disputed
}

func summarize(by string, leaves []Leaf, only []string) Report {
	unattributed, total := group{}, group{}
	groups := map[string]*group{"": &unattributed}
	keys := keysOf(by, leaves)
	for _, l := range leaves {
		parts := merge(l.parts(by, keys))
		all := part{amount: l.Amount(), artifacts: l.Artifacts}
		if only != nil {
			parts = slices.DeleteFunc(parts, func(p part) bool { return !slices.Contains(only, p.key) })
			all = together(parts)
		}
		if len(parts) > 0 {
			total.add(l, all)
		}
		for _, p := range parts {
			if groups[p.key] == nil {
				groups[p.key] = &group{CostRow: trace.CostRow{Key: p.key}}
			}
			groups[p.key].add(l, p)
		}
	}
	delete(groups, "")
	r := Report{Rows: make([]trace.CostRow, 0, len(groups)), Unattributed: unattributed.finish(), Total: total.finish()}
	for _, g := range groups {
		r.Rows = append(r.Rows, g.finish())
	}
	order.Sort(r.Rows, func(a, b trace.CostRow) int {
		return cmp.Or(Compare(b.Amount, a.Amount), cmp.Compare(a.Key, b.Key))
	})
	return r
}

// A group is a row while its leaves are added.
type group struct {
	trace.CostRow
	artifacts map[*Made]bool // whether the cost is known
}

// add adds the part of a leaf that belongs to g.
func (g *group) add(l Leaf, p part) {
	Add(&g.Amount, p.amount)
	g.Agents, g.Programs = named(g.Agents, l.Agent), named(g.Programs, l.program())
	g.Sessions = named(g.Sessions, l.Session)
	if l.Thread != "" {
		g.Threads++
	}
	if g.artifacts == nil {
		g.artifacts = map[*Made]bool{}
	}
	for _, m := range p.artifacts {
		if _, known := g.artifacts[m]; !known {
			g.Revisions += m.Revisions
			g.RefsPassed += m.RefsPassed
			g.BytesRead, g.BytesStayed = sum(g.BytesRead, m.BytesRead), sum(g.BytesStayed, m.BytesStayed)
		}
		g.artifacts[m] = g.artifacts[m] || p.amount.Cost != nil
	}
	switch l.outcome() {
	case FailedUseful:
		g.Failed++
		g.FailedOut++
	case FailedUseless:
		g.Failed++
	}
}

// named adds a name to a sorted list, unless it is "" or the list is full.
func named(list []string, name string) []string {
	const most = 10
	i, known := slices.BinarySearch(list, name)
	if name == "" || known {
		return list
	}
	list = slices.Insert(list, i, name)
	return list[:min(len(list), most)]
}

func (g *group) finish() trace.CostRow {
	priced, active := 0, 0
	for m, known := range g.artifacts {
		g.Artifacts += m.Count
		if known {
			priced, active = priced+m.Count, active+m.Active
		}
	}
	g.CostPerArtifact, g.CostPerActive, g.CacheRate = each(g.Amount, priced), each(g.Amount, active), cacheRate(g.Amount)
	complete(&g.Amount)
	return g.CostRow
}

// program returns the program that used it, "" if it is not known.
func (l Leaf) program() string {
	if u, err := thread.ParseURI(l.Thread); err == nil {
		name, _ := config.ProgramOf(u.Provider)
		return cmp.Or(name, u.Provider)
	}
	harness := ""
	for _, m := range l.Artifacts[:min(1, len(l.Artifacts))] {
		harness = m.Harness
	}
	for _, u := range l.Units[:min(1, len(l.Units))] {
		harness = u.Harness
	}
	if harness == "unknown" {
		return ""
	}
	return harness
}

// outcome returns whether the work of a leaf failed, and whether it left something
// then, or was cancelled; "" if no work of it was reported to have ended.
func (l Leaf) outcome() string {
	if len(l.Units) == 0 {
		return ""
	}
	failed := slices.ContainsFunc(l.Units, func(u Unit) bool { return u.IsError })
	cancelled := slices.ContainsFunc(l.Units, func(u Unit) bool { return u.Ended != 0 && u.Status == Cancelled })
	left := slices.ContainsFunc(l.Artifacts, func(m *Made) bool { return m.Active > 0 })
	switch {
	case failed && left:
		return FailedUseful
	case failed:
		return FailedUseless
	case cancelled:
		return Cancelled
	case slices.ContainsFunc(l.Units, func(u Unit) bool { return u.Ended != 0 }):
		return Succeeded
	}
	return ""
}

func value[T int64 | float64](v *T) T {
	if v == nil {
		return 0
	}
	return *v
}

// A part is the usage of a leaf that belongs to one group, "" for none.
type part struct {
	key       string
	amount    trace.Usage
	artifacts []*Made
}

// merge adds up the parts of one group.
func merge(parts []part) (merged []part) {
	for _, p := range parts {
		i := slices.IndexFunc(merged, func(m part) bool { return m.key == p.key })
		if i < 0 {
			merged = append(merged, part{key: p.key})
			i = len(merged) - 1
		}
		Add(&merged[i].amount, p.amount)
		merged[i].artifacts = append(merged[i].artifacts, p.artifacts...)
	}
	return merged
}

// together adds up parts of any groups.
func together(parts []part) (sum part) {
	for _, p := range parts {
		Add(&sum.amount, p.amount)
		sum.artifacts = append(sum.artifacts, p.artifacts...)
	}
	return sum
}

// Of returns the leaves with usage of a row with one of the keys. A thread has its
// subagents.
func Of(by string, keys []string, leaves []Leaf) (list []Leaf) {
	rows := keysOf(by, leaves)
	for _, l := range leaves {
		if slices.ContainsFunc(l.parts(by, rows), func(p part) bool { return p.key != "" && slices.Contains(keys, p.key) }) ||
			by == ByThread && l.Main != "" && slices.Contains(keys, l.Main) {
			list = append(list, l)
		}
	}
	return list
}

func (l Leaf) parts(by string, keys func(*Made) []string) []part {
	only := func(key string) []part { return []part{{key, l.Amount(), l.Artifacts}} }
	switch by {
	case ByModel:
		return l.byModel()
	case BySession:
		return only(l.Session)
	case ByThread:
		return only(l.Thread)
	case ByAgent:
		return only(cmp.Or(l.Agent, l.program()))
	case ByProgram:
		return only(l.program())
	case ByDay:
		return l.byDay()
	case ByOutcome:
		return only(l.outcome())
	case ByWork:
		return l.byWork()
	}
	if len(l.credited) == 0 {
		return only("")
	}
	all, before := 0, 0
	for _, m := range l.credited {
		all += m.Count
	}
	var parts []part
	for _, m := range l.credited {
		list := keys(m)
		for j, key := range list {
			parts = append(parts, part{key, share(share(l.Amount(), before, m.Count, all), j, 1, len(list)), []*Made{m}})
		}
		before += m.Count
	}
	return parts
}

// keysOf returns what returns the groups that artifacts of leaves belong to, one "" for
// none.
func keysOf(by string, leaves []Leaf) func(*Made) []string {
	var labels map[string][]string
	if by == ByLabel {
		labels = labelsOf(leaves)
	}
	return func(m *Made) (keys []string) {
		p := *m.Production
		if m.Artifact != nil {
			p = fold.ProductionOf(*m.Artifact, by)
		}
		switch by {
		case ByChannel, ByArtifact:
			keys = []string{p.Key}
		case ByTag:
			keys = p.Values
		case ByLabel:
			if keys = p.Values; m.Artifact != nil {
				keys = labels[m.Artifact.ID]
			}
		case ByRevision:
			keys = []string{First}
			if p.Revisions > 0 {
				keys[0] = Revision
			}
		}
		if len(keys) == 0 {
			return []string{""}
		}
		return keys
	}
}

func (l Leaf) byModel() (parts []part) {
	if l.reported().TotalTokens != nil {
		return l.byUnit(func(u Unit) string { return u.Model.ID })
	}
	for _, p := range l.Portions {
		parts = append(parts, part{p.Name, p.Amount, l.Artifacts})
	}
	return parts
}

// byWork attributes what harnesses reported to the work that they reported it for,
// and a transcript to the work that names it first.
func (l Leaf) byWork() []part {
	if l.reported().TotalTokens != nil {
		return l.byUnit(func(u Unit) string { return u.ID })
	}
	key := ""
	if len(l.Units) > 0 {
		key = l.Units[0].ID
	}
	return []part{{key, l.Amount(), l.Artifacts}}
}

// byUnit returns what was reported for each unit. Artifacts belong to the unit that
// published them, or to the last.
func (l Leaf) byUnit(key func(Unit) string) (parts []part) {
	rest := l.Artifacts
	for i, u := range l.Units {
		var own, others []*Made
		for _, a := range rest {
			if a.WorkID == u.ID || i == len(l.Units)-1 {
				own = append(own, a)
			} else {
				others = append(others, a)
			}
		}
		rest = others
		parts = append(parts, part{key(u), u.Reported, own})
	}
	return parts
}
