package engine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A Policy is how several records of the usage of one request count.
type Policy int

// The policies.
const (
	Final  Policy = iota // the first record counts; others repeat it
	Grows                // each has what is known by then: the one with the most output counts
	Total                // each has the sum so far: what is more than before counts, or all if the sum started again
	Latest               // the last version counts
)

// A Use is a record of usage.
type Use struct {
	Key             string // identifies the request, or the counter of a Total; "" if each record is a request
	Policy          Policy
	Provider, Model string
	Tokens          thread.Tokens
	Apart           bool // it belongs to no message, such as that of a compaction
}

// uses are what is known of the requests with a key.
type uses struct {
	ByKey map[string]*used
	Order []string // of those that count at the end
}

// A used is what counts of a request.
type used struct {
	Provider, Model string
	Tokens          thread.Tokens
	Copied          bool
	N               int
	At              time.Time
}

// Use counts a record of usage, and adds what is new in it to the last message. It
// returns that.
func (s *Scan) Use(u Use) (added thread.Tokens) {
	copied := s.Timeline.Inherited
	if u.Key == "" {
		added = u.Tokens
		s.count(u.Provider, u.Model, added, copied, u.Apart)
		return added
	}
	if s.uses.ByKey == nil {
		s.uses.ByKey = map[string]*used{}
	}
	known := s.uses.ByKey[u.Key]
	if known == nil {
		known = &used{Copied: copied, Model: u.Model}
		s.uses.ByKey[u.Key] = known
		if u.Policy == Latest {
			s.uses.Order = append(s.uses.Order, u.Key)
		}
		added = u.Tokens
	} else {
		if u.Policy == Grows && u.Model != known.Model && u.Tokens.Output >= known.Tokens.Output && !known.Copied {
			s.Meter.Move(known.Model, u.Model, known.Tokens)
			known.Model = u.Model
		}
		if added = u.after(known.Tokens); added == (thread.Tokens{}) {
			return added
		}
	}
	known.Tokens, known.N = u.Tokens, s.Meter.N
	known.At = s.Meter.At
	if u.Policy == Latest {
		known.Provider, known.Model = u.Provider, u.Model
		return added
	}
	s.count(u.Provider, u.Model, added, known.Copied, u.Apart)
	return added
}

// after returns what a record adds to what counted before it.
func (u Use) after(before thread.Tokens) thread.Tokens {
	switch now := u.Tokens; u.Policy {
	case Final:
		return thread.Tokens{}
	case Grows:
		if now.Output < before.Output {
			return thread.Tokens{}
		}
		now.Calls = before.Calls
		return minus(now, before)
	case Total:
		if now.Input < before.Input || now.CacheRead < before.CacheRead || now.CacheWrite < before.CacheWrite ||
			now.Output < before.Output {
			return now
		}
		return minus(now, before)
	default:
		return minus(now, before)
	}
}

func minus(a, b thread.Tokens) thread.Tokens {
	return thread.Tokens{
		Input: a.Input - b.Input, CacheRead: a.CacheRead - b.CacheRead, CacheWrite: a.CacheWrite - b.CacheWrite,
		CacheWrite1h: a.CacheWrite1h - b.CacheWrite1h, Output: a.Output - b.Output,
		Reasoning: a.Reasoning - b.Reasoning, Calls: a.Calls - b.Calls, Cost: a.Cost - b.Cost,
	}
}

func (s *Scan) count(provider, model string, t thread.Tokens, copied, apart bool) {
	s.Meter.Add(provider, model, t, copied)
	if !apart {
		s.Timeline.AddUsage(t)
	}
}

// finishUsage counts the last versions and judges the usage.
func (s *Scan) finishUsage() {
	for _, key := range s.uses.Order {
		u := s.uses.ByKey[key]
		s.Meter.N, s.Meter.At = u.N, u.At
		s.Meter.Add(u.Provider, u.Model, u.Tokens, u.Copied)
	}
	f := &s.Facts
	f.Unknown = s.strange.Types
	gaps := append(s.strange.gaps(), s.Gaps...)
	if gaps = append(gaps, thread.Gap{N: f.BadLines, Reason: "%d malformed lines were skipped"}); s.Checked {
		gaps = nil
	}
	s.Meter.Finish(f, gaps...)
	if s.Includes != "" && f.Usage.Calls > 0 {
		f.Usage.Completeness, f.Usage.Reason = thread.SessionTotal, s.Includes
	}
}

// Counts are the names of the members of a usage. A needed one that is missing, and a
// number in a member that is not named here, are gaps.
type Counts struct {
	Input, CacheRead, CacheWrite, Output, Reasoning string

	Optional []string // of these, those that may be missing
	Other    []string // further members, which are no tokens or are part of the others
	Loose    bool     // of further members, only those that are named like tokens are gaps
}

// Tokens returns the counts of a usage, which counts as one request. ok is false if it
// is not an object. A number is limited as Value.Count does. What is not known in it is
// noted, unless the record is shown again.
func (s *Scan) Tokens(v jsonl.Value, names *Counts) (t thread.Tokens, ok bool) {
	if v.Kind() != jsonl.Object {
		return t, false
	}
	into := [5]*int64{&t.Input, &t.CacheRead, &t.CacheWrite, &t.Output, &t.Reasoning}
	want := [5]string{names.Input, names.CacheRead, names.CacheWrite, names.Output, names.Reasoning}
	var has [5]bool
	valid := true
	for c := v.Members(); c.Next(); {
		i := slices.Index(want[:], string(c.Name()))
		switch value := c.Value(); {
		case i >= 0 && (has[i] || value.Kind() == jsonl.Null):
		case i >= 0:
			*into[i], has[i] = value.Count(), true
			switch {
			case value.Kind() == jsonl.Number:
				valid = valid && value.ValidMember()
			case !s.showing:
				s.strange.lack(want[i])
			}
		case !s.showing && positive(value, 0) && (!names.Loose || isUsage(c.Name())) &&
			!slices.Contains(names.Other, string(c.Name())):
			s.strange.member(string(c.Name()))
		}
	}
	if !valid && !s.showing {
		s.Meter.CheckCounts(v)
	}
	for i, name := range want {
		if !has[i] && !s.showing && name != "" && !slices.Contains(names.Optional, name) {
			s.strange.lack(name)
		}
	}
	t.Calls = 1
	return t, true
}

// A strange is what a transcript has that the decoder does not know.
type strange struct {
	Types   map[string]int // records of types that are not known
	Used    map[string]int // those of them with usage
	Unread  map[string]int // records of known types with usage, that are not read
	Members map[string]int // members of usages with numbers
	Lacking map[string]int // records of usage without a member
}

func note(m *map[string]int, name string) {
	const most = 64
	if *m == nil {
		*m = map[string]int{}
	}
	if _, known := (*m)[name]; known || len(*m) < most {
		(*m)[name]++
	}
}

func (x *strange) member(name string) { note(&x.Members, thread.Brief(name)) }
func (x *strange) lack(name string)   { note(&x.Lacking, name) }

// Unknown notes a record of a type that the decoder does not know. If the record has
// usage, that of the thread is a lower bound. That a turn ended before it is not certain.
func (s *Scan) Unknown(kind string, record jsonl.Value) {
	kind = thread.Brief(kind)
	note(&s.strange.Types, kind)
	if state := &s.Facts.State; state.Status.Ended() && state.Source == thread.Child && !s.Timeline.Inherited {
		state.Source = thread.Inferred
		state.Evidence += "; a record of type " + kind + ", which this version does not know, follows"
	}
	if hasUsage(record, false, 0) {
		note(&s.strange.Used, kind)
	}
}

// Unread notes a record of a known type that is not read. If it has usage, that of the
// thread is a lower bound.
func (s *Scan) Unread(kind string, record jsonl.Value) {
	mentions := bytes.Contains(record, []byte("usage")) || bytes.Contains(record, []byte("oken"))
	if mentions && hasUsage(record, false, 0) {
		note(&s.strange.Unread, kind)
	}
}

// Missing notes that a record lacks a member that the decoder needs to count its usage.
func (s *Scan) Missing(member string) { s.strange.lack(member) }

// Newer notes records in a place that is not read, such as a table, of which the last
// was written at a time, which is zero if it is not known. Unless that is before a record of
// the thread, they are a gap, and a turn has not ended. It is called after the last record.
func (s *Scan) Newer(place string, n int, last time.Time) {
	if n == 0 || (!last.IsZero() && !last.After(s.Facts.Last)) {
		return
	}
	s.Gaps = append(s.Gaps, thread.Gap{N: n,
		Reason: "%d newer records are in a place that this version does not read (" + place + ")"})
	if status := s.Facts.State.Status; status == "" || status.Ended() {
		s.Infer(thread.Running, last, "newer records are in a place that this version does not read (%s)", place)
	}
}

func (x *strange) gaps() (list []thread.Gap) {
	add := func(m map[string]int, format string) {
		if len(m) == 0 {
			return
		}
		names, n := slices.Sorted(maps.Keys(m)), 0
		for _, name := range names {
			n += m[name]
		}
		list = append(list, thread.Gap{N: n, Reason: fmt.Sprintf(format, strings.Join(names, ", "))})
	}
	add(x.Used, "%%d records of types that this version does not know (%s)")
	add(x.Unread, "%%d records have usage that this version does not read (%s)")
	add(x.Members, "%%d records of usage have numbers that this version does not know (%s)")
	add(x.Lacking, "%%d records of usage lack a member that this version needs (%s)")
	return list
}

// hasUsage reports whether a value has a count of tokens that is not 0, by the names of its
// members. within reports whether it is in a member that is named so.
func hasUsage(v jsonl.Value, within bool, depth int) bool {
	const most = 8
	if depth > most {
		return false
	}
	switch v.Kind() {
	case jsonl.Number:
		return within && v.Float() > 0
	case jsonl.Array:
		for c := v.Elements(); c.Next(); {
			if e := c.Value(); e.Kind() != jsonl.Number && hasUsage(e, within, depth+1) {
				return true
			}
		}
	case jsonl.Object:
		for c := v.Members(); c.Next(); {
			counts := (within && !isLimit(c.Name())) || isUsage(c.Name())
			if hasUsage(c.Value(), counts, depth+1) {
				return true
			}
		}
	}
	return false
}

// isUsage reports whether a member is named like a count of tokens, or like one with them.
func isUsage(name []byte) bool {
	name = bytes.ToLower(name)
	return (bytes.Contains(name, []byte("token")) || bytes.Contains(name, []byte("usage"))) && !isLimit(name)
}

// isLimit reports whether a member is named like something else than a count.
func isLimit(name []byte) bool {
	name = bytes.ToLower(name)
	for _, word := range []string{"max", "limit", "budget", "window", "before", "after", "threshold", "left", "percent",
		"remaining", "time", "duration", "expires", "version"} {
		if bytes.Contains(name, []byte(word)) {
			return true
		}
	}
	return false
}

// positive reports whether a value is or has a number that is not 0.
func positive(v jsonl.Value, depth int) bool {
	const most = 4
	switch v.Kind() {
	case jsonl.Number:
		return v.Float() > 0
	case jsonl.Object:
		for c := v.Members(); depth < most && c.Next(); {
			if positive(c.Value(), depth+1) {
				return true
			}
		}
	}
	return false
}
