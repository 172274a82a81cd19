package retention

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/storage"
)

// Estimates of the bytes of a record that are above what is written, and how many bytes
// one may have.
const (
	bodyBytes = 150
	idBytes   = 40
	maxBytes  = handoff.MaxRecord / 2
)

// Facts returns the facts that record what a plan drops. Each is about one session, so
// that an export of the session has it.
func Facts(r storage.Retention, v Views) (facts []*handoff.BodiesDropped) {
	artifacts := map[string]Artifact{}
	threads := map[string]handoff.KeptThread{}
	records := map[string][]string{}
	for _, a := range v.Artifacts {
		artifacts[a.ID] = a
	}
	for _, t := range v.Threads {
		threads[t.RecordID] = t
	}
	for _, b := range v.Bodies {
		records[b.Digest.Value] = b.Records
	}
	current, size := map[string]*handoff.BodiesDropped{}, map[string]int{}
	add := func(session string, b storage.RetainedBody, bytes int) *handoff.DroppedBody {
		f := current[session]
		if size[session] += idBytes + bytes; f == nil || size[session] > maxBytes {
			f = &handoff.BodiesDropped{Policy: r.Policy}
			current[session] = f
			size[session] = 0
			facts = append(facts, f)
		}
		if n := len(f.Bodies); n == 0 || f.Bodies[n-1].Digest != b.Digest {
			f.Bodies = append(f.Bodies, handoff.DroppedBody{Digest: b.Digest, SizeBytes: b.SizeBytes})
			size[session] += bodyBytes
		}
		return &f.Bodies[len(f.Bodies)-1]
	}
	for _, b := range r.Bodies {
		if !b.Drop {
			continue
		}
		for _, id := range sorted(records[b.Digest.Value]) {
			if a, ok := artifacts[id]; ok {
				d := add(cmp.Or(a.Session, a.Run), b, 0)
				d.Artifacts = append(d.Artifacts, id)
			} else if t, ok := threads[id]; ok {
				d := add("thread "+t.Thread, b, len(t.Thread))
				d.Threads, d.Records = append(d.Threads, t.Thread), append(d.Records, id)
			}
		}
	}
	return facts
}

func sorted(ids []string) []string {
	ids = slices.Clone(ids)
	order.Sort(ids, strings.Compare)
	return slices.Compact(ids)
}
