package news

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/agent-handoff/handoff"
)

// groupings are what records can be grouped by, with the fields of a producer that decide.
var groupings = map[string]func(handoff.Producer) string{
	"agent":   func(p handoff.Producer) string { return cmp.Or(p.Agent, p.Harness) },
	"task":    func(p handoff.Producer) string { return p.Slot("task") },
	"session": func(p handoff.Producer) string { return cmp.Or(p.Session, p.RunID) },
}

// Grouping returns what decides the group of a record, by agent, task or session; the
// group "" is that of those without one.
//
// Kind: Invalid (by).
func Grouping(by string) (func(handoff.Producer) string, error) {
	key, ok := groupings[by]
	if !ok {
		return nil, handoff.E("list", by, handoff.Invalid, errors.New("unknown group"),
			handoff.Advice("group by agent, task or session"))
	}
	return key, nil
}

// A Lane is what the work of one agent, task or session is about.
type Lane struct {
	Key     string // "" for what belongs to none
	Name    string // of a session, if it is known
	Waiting []Card // what needs a person
	Running []Card
	Review  []Card // artifacts that wait for a review
	Done    []Card // ended in the time of the report
}

// A Card is one thing in a Lane.
type Card struct {
	Kind  string // artifact, session, thread or pipeline
	Ref   string // an ID, a URI or the name of a pipeline run
	Title string
	Text  string // why it is there
	At    time.Time
}

// Board returns the report by agent, task or session. Lanes where somebody waits come first,
// then those that run; what belongs to none is last.
//
// Kind: Invalid (by).
func (r Report) Board(by string) ([]Lane, error) {
	key, err := Grouping(by)
	if err != nil {
		return nil, err
	}
	lanes, byKey := []*Lane(nil), map[string]*Lane{}
	lane := func(p handoff.Producer, name string) *Lane {
		k := key(p)
		l := byKey[k]
		if l == nil {
			l = &Lane{Key: k}
			byKey[k], lanes = l, append(lanes, l)
		}
		if by == "session" && k != "" {
			l.Name = cmp.Or(l.Name, name)
		}
		return l
	}
	for _, n := range r.Needs {
		if n.Kind == "log" {
			continue
		}
		l, c := lane(n.from, ""), Card{n.Kind, n.Ref, cmp.Or(n.Title, n.Ref), n.Notice.Text, n.At}
		if n.Notice.Code == handoff.NoticeReviewAsked {
			l.Review = append(l.Review, c)
			continue
		}
		l.Waiting = append(l.Waiting, c)
	}
	for _, s := range r.Running.Sessions {
		p := s.Producer
		p.Session, p.Agent = s.ID, s.Agent.Name
		l := lane(p, s.LongName)
		l.Running = append(l.Running, Card{"session", s.ID, s.LongName, s.Status, s.ActiveAt})
	}
	for _, t := range r.Running.Threads {
		if t.Session == "" {
			l := lane(handoff.Producer{Harness: program(t.URI, "")}, "")
			l.Running = append(l.Running, Card{"thread", t.URI, cmp.Or(t.Title, t.URI), string(t.State.Status), t.ActiveAt})
		}
	}
	for _, d := range r.Done {
		l := lane(handoff.Producer{Agent: d.Agent, Harness: d.Program, Session: d.Session}, d.Title)
		c := Card{"session", d.Session, cmp.Or(d.Title, d.Session, d.Thread), cmp.Or(d.Reason, d.Outcome), d.Ended}
		if d.Session == "" {
			c.Kind, c.Ref = "thread", d.Thread
		}
		l.Done = append(l.Done, c)
	}
	slices.SortStableFunc(lanes, func(a, b *Lane) int {
		more := func(of func(*Lane) int) int { return min(1, of(b)) - min(1, of(a)) }
		return cmp.Or(more(func(l *Lane) int { return len(l.Key) }),
			more(func(l *Lane) int { return len(l.Waiting) + len(l.Review) }), more(func(l *Lane) int { return len(l.Running) }))
	})
	var list []Lane
	for _, l := range lanes {
		list = append(list, *l)
	}
	return list, nil
}
