package fold

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// An author is the author of an artifact, to which reviewers are related.
type author struct {
	s      Store
	a      *ArtifactState
	own    string   // see identity
	above  []string // who started it, nil until that is needed
	traced bool
}

func newAuthor(s Store, a *ArtifactState) *author {
	return &author{s: s, a: a, own: identity(a.Record.Producer)}
}

// identity tells the agents of producers apart: by thread, otherwise by session, run and
// name. It is "" for a producer without any of them.
func identity(p handoff.Producer) string {
	switch {
	case p.Thread != "":
		return p.Thread
	case p.Session != "" || p.RunID != "":
		return strings.Join([]string{p.Session, p.RunID, p.Agent}, "\x00")
	}
	return p.Agent
}

// reviewer returns who made a remark about the artifact.
func (u *author) reviewer(m remark, user, via string) (handoff.Reviewer, error) {
	p := m.Producer
	relation, err := u.relation(m, via)
	return handoff.Reviewer{Name: cmp.Or(user, nameOf(p)), Relation: relation, Thread: p.Thread, Via: via}, err
}

// nameOf names an agent for people.
func nameOf(p handoff.Producer) string { return cmp.Or(p.Agent, p.Harness, "unknown") }

func (u *author) relation(m remark, via string) (handoff.Relation, error) {
	known := []string{handoff.ViaTerminal, handoff.ViaCommand, handoff.ViaMCP}
	by := identity(m.Producer)
	switch {
	case m.Import != "" || !slices.Contains(known, via):
		return handoff.RelationImported, nil
	case by == "" && via == handoff.ViaTerminal && isNobody(m.Producer):
		return handoff.RelationHuman, nil
	case by == "" || u.own == "":
		return handoff.RelationUnknown, nil
	case by == u.own:
		return handoff.RelationSelf, nil
	}
	above, err := starters(u.s, m.Producer)
	if err != nil {
		return "", err
	}
	if slices.Contains(above, u.own) {
		return handoff.RelationSelf, nil
	}
	if !u.traced {
		if u.above, err = starters(u.s, u.a.Record.Producer); err != nil {
			return "", err
		}
		u.traced = true
	}
	switch {
	case slices.Contains(u.above, by):
		return handoff.RelationLead, nil
	case maybeSame(m.Producer, u.a.Record.Producer):
		return handoff.RelationUnknown, nil
	}
	return handoff.RelationOther, nil
}

// maybeSame reports whether two producers can be the same agent, of which one names less of
// itself: without a thread, the session or the agent is the same as far as both name it.
func maybeSame(p, q handoff.Producer) bool {
	if p.Thread != "" && q.Thread != "" {
		return false
	}
	agent := p.Agent == "" || q.Agent == "" || p.Agent == q.Agent
	place := (p.Session != "" && p.Session == q.Session) || (p.RunID != "" && p.RunID == q.RunID)
	nowhere := (p.Session == "" && p.RunID == "") || (q.Session == "" && q.RunID == "")
	return (agent && place) || (p.Agent != "" && p.Agent == q.Agent && nowhere)
}

// isNobody reports whether nothing in the environment of a producer named an agent.
func isNobody(p handoff.Producer) bool {
	return p.Source == handoff.FromNone || (p.Source == "" && p.Harness == "")
}

// starters returns the identities of the agents that started the one of a producer,
// directly or not: the threads above its thread, who opened the sessions and runs that it
// worked in, and the threads of the work above its own.
func starters(s Store, p handoff.Producer) (list []string, err error) {
	seen := map[string]bool{identity(p): true}
	for todo := []handoff.Producer{p}; len(todo) > 0 && len(list) < maxAbove; todo = todo[1:] {
		above, err := startedBy(s, todo[0])
		if err != nil {
			return nil, err
		}
		for _, q := range above {
			if id := identity(q); id != "" && !seen[id] {
				seen[id] = true
				list, todo = append(list, id), append(todo, q)
			}
		}
	}
	return list, nil
}

// startedBy returns who started the agent of a producer, as far as it or the log says so.
func startedBy(s Store, p handoff.Producer) (list []handoff.Producer, err error) {
	thread := func(uri string) {
		if uri != "" {
			list = append(list, handoff.Producer{Harness: p.Harness, Thread: uri})
		}
	}
	scheme, rest, _ := strings.Cut(p.Thread, "://")
	parts := strings.Split(rest, "/") // provider, ID and those of subagents
	if len(parts) > 2 {
		thread(scheme + "://" + strings.Join(parts[:len(parts)-1], "/"))
	}
	if p.ParentSession != "" && len(parts) >= 2 {
		thread(scheme + "://" + parts[0] + "/" + p.ParentSession)
	}
	if p.Session != "" && len(parts) == 2 && p.Session != parts[1] {
		// The session of a program that names its subagents apart, unless it is one of handoff.
		if opened, err := s.Session(p.Session); err != nil || opened == nil {
			thread(scheme + "://" + parts[0] + "/" + p.Session)
		}
	}
	for id, above := cmp.Or(p.ParentWorkID, p.WorkID), 0; id != "" && above < maxAbove; above++ {
		w, err := s.Work(p.Harness, id)
		if err != nil {
			return nil, err
		}
		if w == nil {
			break
		}
		thread(w.Thread)
		id = w.Parent
	}
	for _, id := range []string{p.RunID, p.Session} {
		for above := 0; id != "" && above < maxAbove; above++ {
			opened, err := s.Session(id)
			if err != nil {
				return nil, err
			}
			if opened == nil {
				break
			}
			list = append(list, opened.Producer)
			id = opened.Parent
		}
	}
	return list, nil
}
