package cost

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A Leaf is usage that is counted once: that of a conversation without its
// subagents, or of work that a harness reported without naming a conversation.
type Leaf struct {
	Thread    string // URI of the conversation, "" for none
	Units     []Unit // work of the conversation, by start
	Session   string // of handoff, "" if none is known
	Agent     string
	Ended     time.Time          // or last active
	Models    map[Model]Amount   // by the transcript
	Artifacts []handoff.Artifact // that it published
}

// A Unit is work with what its harness reported.
type Unit struct {
	handoff.Work
	Reported Amount
}

// Amount returns what the leaf used. A harness that reported usage is preferred to
// the transcript.
func (l Leaf) Amount() Amount {
	if a := l.reported(); a.TotalTokens != nil {
		return a
	}
	return l.transcript()
}

func (l Leaf) reported() (a Amount) {
	for _, u := range l.Units {
		a.Add(u.Reported)
	}
	return a
}

func (l Leaf) transcript() (a Amount) {
	for _, m := range slices.SortedFunc(maps.Keys(l.Models), compareModels) {
		a.Add(l.Models[m])
	}
	return a
}

func compareModels(a, b Model) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Provider, b.Provider))
}

// disputed is the share of the total by which the usage of a harness and of a
// transcript may differ before both are shown.
const disputed = 0.05

// Disputed returns what the transcript says if the harness reported something else.
func (l Leaf) Disputed() (Amount, bool) {
	t, r := l.transcript(), l.reported()
	if r.TotalTokens == nil || t.TotalTokens == nil {
		return Amount{}, false
	}
	reported, seen := float64(*r.TotalTokens), float64(*t.TotalTokens)
	return t, math.Abs(reported-seen) > disputed*max(reported, seen)
}

// The groups of a Report.
const (
	BySession  = "session"
	ByAgent    = "agent"
	ByModel    = "model"
	ByChannel  = "channel"
	ByArtifact = "artifact"
	ByTag      = "tag"
	ByLabel    = "label"
	ByDay      = "day"
	ByWork     = "work"
)

// Groups are what a Report can be grouped by.
var Groups = []string{BySession, ByAgent, ByModel, ByChannel, ByArtifact, ByTag, ByLabel, ByDay, ByWork}

// A Report has the usage of groups, the most expensive first.
type Report struct {
	Rows         []Row
	Unattributed *Row // what belongs to no group; nil for nothing
	Total        Row
}

// A Row is the usage of one group.
type Row struct {
	Key       string `json:"key"`
	Name      string `json:"name,omitempty"` // for people, where Key is an ID
	Amount    Amount `json:"usage"`
	Threads   int    `json:"threads,omitempty"` // conversations that it is from
	Artifacts int    `json:"artifacts"`         // that were published with it
	Failed    int    `json:"failedWork,omitempty"`
	FailedOut int    `json:"failedWorkWithArtifacts,omitempty"` // failed work that left an active artifact

	// CostPerArtifact is the cost divided by the artifacts of which it is known.
	CostPerArtifact *float64 `json:"costPerArtifact,omitempty"`
}

// Summarize groups leaves. Usage of a leaf that belongs to several groups is shared
// equally: each artifact of a leaf has an equal part of what the leaf used, and each
// tag or label of an artifact an equal part of that. The rows and Unattributed add
// up to Total.
func Summarize(by string, leaves []Leaf) Report {
	r := Report{Rows: []Row{}}
	rows, artifacts, priced := map[string]*Row{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	count := func(row *Row, key string, l Leaf, a Amount, ids []string) {
		row.Amount.Add(a)
		if l.Thread != "" {
			row.Threads++
		}
		if artifacts[key] == nil {
			artifacts[key], priced[key] = map[string]bool{}, map[string]bool{}
		}
		for _, id := range ids {
			if artifacts[key][id] = true; a.Cost != nil {
				priced[key][id] = true
			}
		}
		failed := slices.ContainsFunc(l.Units, func(u Unit) bool { return u.IsError })
		if failed {
			row.Failed++
		}
		if failed && slices.ContainsFunc(l.Artifacts, func(a handoff.Artifact) bool { return a.Status == handoff.Active }) {
			row.FailedOut++
		}
	}
	unattributed := Row{}
	for _, l := range leaves {
		count(&r.Total, " total", l, l.Amount(), ids(l.Artifacts))
		for _, p := range merge(l.parts(by)) {
			if p.key == "" {
				count(&unattributed, "", l, p.amount, p.artifacts)
				r.Unattributed = &unattributed
				continue
			}
			if rows[p.key] == nil {
				rows[p.key] = &Row{Key: p.key}
			}
			count(rows[p.key], p.key, l, p.amount, p.artifacts)
		}
	}
	for key, row := range rows {
		row.finish(len(artifacts[key]), len(priced[key]))
		r.Rows = append(r.Rows, *row)
	}
	unattributed.finish(len(artifacts[""]), len(priced[""]))
	r.Total.finish(len(artifacts[" total"]), len(priced[" total"]))
	slices.SortFunc(r.Rows, func(a, b Row) int {
		return cmp.Or(-cmp.Compare(value(a.Amount.Cost), value(b.Amount.Cost)), -cmp.Compare(value(a.Amount.TotalTokens), value(b.Amount.TotalTokens)), cmp.Compare(a.Key, b.Key))
	})
	return r
}

func (r *Row) finish(artifacts, priced int) {
	if r.Artifacts = artifacts; priced > 0 && r.Amount.Cost != nil {
		each := *r.Amount.Cost / float64(priced)
		r.CostPerArtifact = &each
	}
	if r.Amount.Completeness == "" {
		r.Amount.Completeness = thread.NoUsage
	}
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
	amount    Amount
	artifacts []string
}

// merge adds up the parts of one group.
func merge(parts []part) (merged []part) {
	for _, p := range parts {
		i := slices.IndexFunc(merged, func(m part) bool { return m.key == p.key })
		if i < 0 {
			merged = append(merged, part{key: p.key})
			i = len(merged) - 1
		}
		merged[i].amount.Add(p.amount)
		merged[i].artifacts = append(merged[i].artifacts, p.artifacts...)
	}
	return merged
}

func (l Leaf) parts(by string) []part {
	all := ids(l.Artifacts)
	switch by {
	case ByModel:
		return l.byModel()
	case BySession:
		return []part{{l.Session, l.Amount(), all}}
	case ByAgent:
		return []part{{l.Agent, l.Amount(), all}}
	case ByDay:
		day := ""
		if !l.Ended.IsZero() {
			day = l.Ended.Format(time.DateOnly)
		}
		return []part{{day, l.Amount(), all}}
	case ByWork:
		return l.byWork()
	}
	if len(l.Artifacts) == 0 {
		return []part{{amount: l.Amount()}}
	}
	var parts []part
	for i, a := range l.Artifacts {
		keys := keysOf(by, a)
		for j, key := range keys {
			parts = append(parts, part{key, l.Amount().share(i, len(l.Artifacts)).share(j, len(keys)), []string{a.ID}})
		}
	}
	return parts
}

// keysOf returns the groups that an artifact belongs to, one "" for none.
func keysOf(by string, a handoff.Artifact) (keys []string) {
	switch by {
	case ByChannel:
		keys = []string{a.Channel}
	case ByArtifact:
		keys = []string{a.ID}
	case ByTag:
		keys = slices.Compact(slices.Sorted(slices.Values(a.Tags)))
	case ByLabel:
		for _, label := range a.Labels {
			keys = append(keys, a.Channel+":"+label)
		}
	}
	if len(keys) == 0 {
		return []string{""}
	}
	return keys
}

func (l Leaf) byModel() (parts []part) {
	if l.reported().TotalTokens != nil {
		return l.byUnit(func(u Unit) string { return u.Model.ID })
	}
	for _, m := range slices.SortedFunc(maps.Keys(l.Models), compareModels) {
		parts = append(parts, part{m.Name, l.Models[m], ids(l.Artifacts)})
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
	return []part{{key, l.Amount(), ids(l.Artifacts)}}
}

// byUnit returns what was reported for each unit. Artifacts belong to the unit that
// published them, or to the last.
func (l Leaf) byUnit(key func(Unit) string) (parts []part) {
	rest := l.Artifacts
	for i, u := range l.Units {
		var own, others []handoff.Artifact
		for _, a := range rest {
			if a.Producer.WorkID == u.ID || i == len(l.Units)-1 {
				own = append(own, a)
			} else {
				others = append(others, a)
			}
		}
		rest = others
		parts = append(parts, part{key(u), u.Reported, ids(own)})
	}
	return parts
}

func ids(list []handoff.Artifact) (ids []string) {
	for _, a := range list {
		ids = append(ids, a.ID)
	}
	return ids
}
