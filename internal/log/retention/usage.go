package retention

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/storage"
)

// Groups are what Usage can group artifacts by.
var Groups = []string{"channel", "agent", "session", "state"}

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
	groups := map[string]*storage.DiskUsage{}
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
		u := storage.DiskUsage{By: "others"} // texts of comments, and what a later version may need
		if newest != nil {
			u = storage.DiskUsage{By: by, Name: newest.group(by)}
		} else if thread {
			u.By = "threads"
		}
		g := groups[u.By+"\x00"+u.Name]
		if g == nil {
			g = &u
			groups[u.By+"\x00"+u.Name] = g
		}
		g.SizeBytes += b.SizeBytes
		g.Bodies++
		if newest != nil && !needed {
			g.Superseded++
		}
	}
	list := make([]storage.DiskUsage, 0, len(groups))
	for _, u := range groups {
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
		return cmp.Or(a.Agent, "(none)")
	case "session":
		return cmp.Or(a.Session, a.Run, "(none)")
	case "state":
		return string(a.Status)
	}
	return a.Channel
}
