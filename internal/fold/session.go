package fold

import (
	"strconv"

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
	s.Apply(r)
	if opens && s.Opened != 0 {
		if err := numberExecution(k, s); err != nil {
			return err
		}
	}
	return k.PutSession(s)
}

// numberExecution gives a session that was just opened its number among the
// executions of its workflow by its agent. A run that does a part of its parent's
// work, by the same agent in the same workflow, has none.
func numberExecution(k Keeper, s *handoff.Session) error {
	if s.Workflow.Name == "" {
		return nil
	}
	if s.Parent != "" {
		parent, err := k.Session(s.Parent)
		if err != nil {
			return err
		}
		if parent != nil && parent.Agent.Name == s.Agent.Name && parent.Workflow.Name == s.Workflow.Name {
			return nil
		}
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
	case *handoff.SessionRestored:
		return f.SessionID, true
	}
	return "", false
}
