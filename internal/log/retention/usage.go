package retention

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/storage"
)

// NoName is the name of the group of artifacts without an agent or session.
const NoName = "(none)"

// GroupedBy are what Usage can group artifacts by.
var GroupedBy = []string{"channel", "agent", "session", "state"}

// Usage returns the space that bodies take, the largest group first: those of artifacts by
// channel, agent, session or state, those of threads, and others. A body counts once, for
// the newest artifact that has it.
func Usage(v Views, by string) []storage.DiskUsage {
	artifacts, threads := map[string]*Artifact{}, map[string]bool{}
	for i := range v.Artifacts {
		artifacts[v.Artifacts[i].ID] = &v.Artifacts[i]
	}
	for _, t := range v.Threads {
		threads[t.RecordID] = true
	}
	var groups Groups
	for _, b := range v.Bodies {
		var newest *Artifact
		needed, thread := false, false
		for _, id := range b.Records {
			a := artifacts[id]
			if a == nil {
				thread = thread || threads[id]
				continue
			}
			needed = needed || a.Status == handoff.Active
			if newest == nil || a.Seq > newest.Seq {
				newest = a
			}
		}
		switch {
		case newest != nil:
			groups.Add(by, newest.group(by), b.SizeBytes, !needed)
		case thread:
			groups.Add("threads", "", b.SizeBytes, false)
		default: // texts of comments, and what a later version may need
			groups.Add("others", "", b.SizeBytes, false)
		}
	}
	return groups.List()
}

// Groups add up the space that bodies take. The zero value is ready to use.
type Groups struct {
	all map[[2]string]*storage.DiskUsage
}

// Add adds a body to a group, which has no name if it is the only one of its kind.
func (g *Groups) Add(by, name string, size int64, superseded bool) {
	if g.all == nil {
		g.all = map[[2]string]*storage.DiskUsage{}
	}
	key := [2]string{by, name}
	u := g.all[key]
	if u == nil {
		u = &storage.DiskUsage{By: by, Name: name}
		g.all[key] = u
	}
	u.SizeBytes += size
	u.Bodies++
	if superseded {
		u.Superseded++
	}
}

// List returns the groups, the largest first.
func (g *Groups) List() []storage.DiskUsage {
	list := make([]storage.DiskUsage, 0, len(g.all))
	for _, u := range g.all {
		list = append(list, *u)
	}
	order.Sort(list, func(a, b storage.DiskUsage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), strings.Compare(a.By+a.Name, b.By+b.Name))
	})
	return list
}

func (a *Artifact) group(by string) string {
	switch by {
	case "agent":
		return cmp.Or(a.Agent, NoName)
	case "session":
		return cmp.Or(a.Session, a.Run, NoName)
	case "state":
		return string(a.Status)
	}
	return a.Channel
}
