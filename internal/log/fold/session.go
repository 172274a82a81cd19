package fold

import (
	"cmp"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
)

func foldSession(k Keeper, id string, r handoff.Record) error {
	s, err := k.Session(id)
	if err != nil {
		return err
	}
	if s == nil {
		s = &handoff.Session{ID: id}
	}
	opens := s.Opened == 0
	if !applyPlace(s, r) {
		ApplySession(s, r)
	}
	if opens && s.Opened != 0 {
		if err := foldOpened(k, s); err != nil {
			return err
		}
	}
	if err := k.PutSession(s); err != nil {
		return err
	}
	switch r.Fact.(type) {
	case *handoff.SessionArchived, *handoff.SessionDeleted, *handoff.SessionRestored:
		return eachRun(k, id, func(run *handoff.Session) { run.Archived, run.Deleted = s.Archived, s.Deleted })
	}
	return nil
}

// applyPlace applies a fact that archives, deletes or restores a session, and reports
// whether it is one.
func applyPlace(s *handoff.Session, r handoff.Record) bool {
	switch r.Fact.(type) {
	case *handoff.SessionArchived:
		s.Archived = true
		s.ArchivedAt = cmp.Or(s.ArchivedAt, r.CreatedAt)
	case *handoff.SessionDeleted:
		s.Deleted = true
		s.DeletedAt = cmp.Or(s.DeletedAt, r.CreatedAt)
	case *handoff.SessionRestored:
		s.Archived = false
		s.Deleted = false
		s.ArchivedAt = time.Time{}
		s.DeletedAt = time.Time{}
	default:
		return false
	}
	if s.Status == "" {
		s.Status = handoff.Running // as every session that other records name
	}
	return true
}

// foldOpened completes a session that was just opened with what other sessions
// decide.
func foldOpened(k Keeper, s *handoff.Session) error {
	var parent *handoff.Session
	if s.Parent != "" {
		var err error
		if parent, err = k.Session(s.Parent); err != nil {
			return err
		}
	}
	if parent != nil {
		s.Archived, s.Deleted = parent.Archived, parent.Deleted
	}
	return numberExecution(k, s, parent)
}

// eachRun calls change for every run in a session, at any depth.
func eachRun(k Keeper, id string, change func(run *handoff.Session)) error {
	seen := map[string]bool{id: true} // forged records can form a cycle
	for todo := []string{id}; len(todo) > 0; todo = todo[1:] {
		ids, err := k.Runs(todo[0])
		if err != nil {
			return err
		}
		for _, id := range ids {
			run, err := k.Session(id)
			if err != nil {
				return err
			}
			if run == nil || seen[id] {
				continue
			}
			seen[id] = true
			change(run)
			if err := k.PutSession(run); err != nil {
				return err
			}
			todo = append(todo, id)
		}
	}
	return nil
}

// numberExecution gives a session that was just opened its number among the
// executions of its workflow by its agent. A run that does a part of its parent's
// work, by the same agent in the same workflow, has none.
func numberExecution(k Keeper, s, parent *handoff.Session) error {
	if s.Workflow.Name == "" ||
		(parent != nil && parent.Agent.Name == s.Agent.Name && parent.Workflow.Name == s.Workflow.Name) {
		return nil
	}
	key := s.Agent.Name + "\x00" + s.Workflow.Name
	n, err := count(k, executionSpace, key, 0)
	if err != nil {
		return err
	}
	s.Execution = n + 1
	return k.PutPointer(executionSpace, key, strconv.Itoa(s.Execution))
}

// sessionOf returns the ID of the session that a fact is about, or false if it is
// about something else.
func sessionOf(f handoff.Fact) (string, bool) {
	switch f := f.(type) {
	case *handoff.SessionOpened:
		return f.SessionID, true
	case *handoff.SessionClosed:
		return f.SessionID, true
	case *handoff.SessionLinked:
		return f.SessionID, true
	case *handoff.SessionNoted:
		return f.SessionID, true
	case *handoff.SessionArchived:
		return f.SessionID, true
	case *handoff.SessionDeleted:
		return f.SessionID, true
	case *handoff.SessionRestored:
		return f.SessionID, true
	}
	return "", false
}
