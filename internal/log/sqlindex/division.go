package sqlindex

import (
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// A division adds up productions of which those of a producer follow each other.
type division struct {
	list []handoff.Production
	by   string

	ids map[int64]string // of artifacts that are told apart, by the Seq of the record
	of  numbers          // of the values of artifacts, by Seq; 0 for none
	valueSets

	places map[int64]place // of the last producer, by what they are told apart by
}

// A place is that of a production in the list, with the highest Seq of its artifacts.
type place struct {
	at  int
	seq int64
}

// divide returns what adds up the productions of a query, and what the query groups by, ""
// for nothing.
func (s *store) divide(q handoff.ProductionQuery) (*division, string, error) {
	d := &division{by: q.By, ids: map[int64]string{}, of: numbers{}}
	if key, ok := productionKeys[q.By]; ok {
		return d, key, nil
	}
	identify := func(r *sqlite.Row) error {
		seq := r.Integer()
		d.ids[seq] = r.Text()
		return nil
	}
	if q.By == "artifact" {
		if q.Since.IsZero() && q.Until.IsZero() {
			return d, "", s.load(`SELECT seq, id FROM artifacts INDEXED BY by_id`, identify)
		}
		since, until := period(q)
		return d, "", s.load(`SELECT seq, id FROM artifacts INDEXED BY by_created WHERE created BETWEEN ? AND ?`, identify,
			since, until)
	}
	space := tagSpace
	if q.By == "label" {
		space = labelSpace
		err := s.load(`SELECT seq, id FROM artifacts WHERE seq IN (SELECT seq FROM labels WHERE space = ?)`, identify, space)
		if err == nil {
			err = s.loadAll(`SELECT seq, id FROM artifacts WHERE id`, identify, q.Apart)
		}
		if err != nil || len(d.ids) == 0 {
			return d, productionKeys[""], err
		}
	}
	err := s.load(`SELECT seq, value FROM labels WHERE space = ? ORDER BY value`, func(r *sqlite.Row) error {
		seq := r.Integer()
		n := d.of.at(seq)
		*n = d.with(*n, r.Text())
		return nil
	}, space)
	if err != nil || q.By == "label" {
		return d, "", err
	}
	return d, "", s.load(artifactsWith, func(r *sqlite.Row) error {
		a, err := artifactFrom(r)
		if err != nil {
			return err
		}
		shown, err := fold.Readable(s, a)
		set := int32(0)
		for _, tag := range slices.Compact(slices.Sorted(slices.Values(shown.Tags))) {
			set = d.with(set, tag)
		}
		*d.of.at(int64(a.Record.Seq)) = set
		return err
	}, redactedSpace)
}

// artifactsWith selects the artifacts that have any label of a space.
const artifactsWith = `SELECT seq, id, record, state, sum, family, coalesce(contest, ''), status FROM artifacts
	WHERE seq IN (SELECT seq FROM labels WHERE space = ?)`

// add adds the production of a row.
func (d *division) add(p handoff.Production, r *sqlite.Row) {
	if _, grouped := productionKeys[d.by]; grouped {
		d.list = append(d.list, p)
		return
	}
	seq, _ := r.Value(3).(int64)
	key := seq
	switch d.by {
	case "tag":
		key = int64(*d.of.at(seq))
	case "label":
		if d.ids[seq] == "" {
			key = 0 // the others
		}
	}
	if last := len(d.list) - 1; last < 0 || !sameProducer(&p, d.list[last]) {
		d.places = map[int64]place{}
	}
	at, known := d.places[key]
	if !known {
		d.places[key] = place{len(d.list), seq}
		p.Key, p.Values = d.ids[seq], d.values(*d.of.at(seq))
		d.list = append(d.list, p)
		return
	}
	sum := &d.list[at.at]
	fold.AddProduction(sum, p)
	if seq > at.seq {
		sum.Session = p.Session
		sum.RunID = p.RunID
		sum.Agent = p.Agent
		sum.Newest = p.Newest
		d.places[key] = place{at.at, seq}
	}
}

// sameProducer reports whether two productions have the same producer. If so, p gets the
// strings of the other, so that each is in memory once.
func sameProducer(p *handoff.Production, other handoff.Production) bool {
	a, b := *p, other
	a.Key = ""
	a.Values = nil
	b.Key = ""
	b.Values = nil
	if fold.CompareProductions(a, b) != 0 {
		return false
	}
	p.Thread = other.Thread
	p.WorkID = other.WorkID
	p.Harness = other.Harness
	for _, s := range []struct {
		mine  *string
		other string
	}{{&p.Session, other.Session}, {&p.RunID, other.RunID}, {&p.Agent, other.Agent}} {
		if *s.mine == s.other {
			*s.mine = s.other
		}
	}
	return true
}

// valueSets are lists of values, each with a number. The list 0 is empty.
type valueSets struct {
	lists []oneMore // the list n is at n-1
	next  map[oneMore]int32
	whole map[int32][]string // what values returned
}

// oneMore is a list with one more value.
type oneMore struct {
	list  int32
	value string
}

// with returns the number of a list with one more value.
func (v *valueSets) with(list int32, value string) int32 {
	if v.next == nil {
		v.next, v.whole = map[oneMore]int32{}, map[int32][]string{}
	}
	key := oneMore{list, value}
	n, ok := v.next[key]
	if !ok {
		v.lists = append(v.lists, key)
		n = int32(len(v.lists))
		v.next[key] = n
	}
	return n
}

// values returns a list by its number, nil for the empty one.
func (v *valueSets) values(n int32) (list []string) {
	if n == 0 || v.whole[n] != nil {
		return v.whole[n]
	}
	for at := n; at != 0; at = v.lists[at-1].list {
		list = append(list, v.lists[at-1].value)
	}
	slices.Reverse(list)
	v.whole[n] = list
	return list
}

// numbers are small numbers by Seq, which take the memory of a slice.
type numbers map[int64]*[512]int32

func (n numbers) at(seq int64) *int32 {
	part := n[seq/512]
	if part == nil {
		part = new([512]int32)
		n[seq/512] = part
	}
	return &part[seq%512]
}
