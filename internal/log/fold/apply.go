package fold

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agent-handoff/handoff"
)

// ApplySession applies the next record about a session to its view, unless it is about
// where the session's files are, which is no activity of it. Only the first
// SessionOpened and the first SessionClosed count; an end that was concluded
// gives way to the first one that is reported.
func ApplySession(s *handoff.Session, r handoff.Record) {
	if s.Status == "" {
		s.Status = handoff.Running
	}
	s.Newest, s.NewestAt = r.Seq, r.CreatedAt
	switch f := r.Fact.(type) {
	case *handoff.SessionOpened:
		if s.Opened == 0 {
			s.Opened = r.Seq
			s.OpenedAt = cmp.Or(f.StartedAt, r.CreatedAt)
			s.Producer = r.Producer
			s.Parent = f.Parent
			s.Title = f.Title
			s.Agent = f.Agent
			s.Workflow = f.Workflow
			s.User = f.User
			s.Inputs = f.Inputs
			s.Folder = f.Folder
			s.Process = f.Process
			s.Adopted = f.Manifest
			s.Expected = f.Expected
			s.Dir = f.Dir
			if handoff.CheckSessionFolder(f.Folder) != nil {
				s.Folder = "" // nothing is written where a forged record says
			}
		}
	case *handoff.SessionClosed:
		concluded := s.Closed != 0 && s.Reason == handoff.ProcessGone && f.Reason != handoff.ProcessGone
		if s.Closed != 0 && !concluded {
			s.Reclosed = append(s.Reclosed, *f)
			return
		}
		s.Closed = r.Seq
		s.ClosedAt = cmp.Or(f.EndedAt, r.CreatedAt)
		s.Status = f.Status
		s.Reason = f.Reason
	case *handoff.SessionLinked:
		if !slices.Contains(s.Links, f.To) {
			s.Links = append(s.Links, f.To)
		}
	case *handoff.SessionNoted:
		applyNote(s, f)
	}
}

func applyNote(s *handoff.Session, f *handoff.SessionNoted) {
	s.Tags = slices.DeleteFunc(s.Tags, func(tag string) bool { return slices.Contains(f.RemovedTags, tag) })
	if f.Child != (handoff.Process{}) {
		s.Child = f.Child
	}
	for _, tag := range f.Tags {
		if !slices.Contains(s.Tags, tag) {
			s.Tags = append(s.Tags, tag)
		}
	}
	if f.Name != nil {
		s.Name = *f.Name
	}
	if f.UserSummary != nil {
		s.Summary = *f.UserSummary
	}
	if f.MessageCount != nil {
		s.Messages = *f.MessageCount
	}
	if len(f.Metadata) > 0 {
		merged := maps.Clone(s.Metadata)
		if merged == nil {
			merged = map[string]json.RawMessage{}
		}
		maps.Copy(merged, f.Metadata)
		s.Metadata = merged
	}
}

// cancelled is the status of work that was cancelled.
const cancelled = "cancelled"

// ApplyWork applies a record about a unit of work to its view, in any order. Of several
// starts the record with the smallest ID counts, but for the process the one with the
// largest; of several ends one with usage that the harness reported, then the one with
// the smallest ID.
func ApplyWork(w *handoff.Work, r handoff.Record) {
	switch f := r.Fact.(type) {
	case *handoff.WorkStarted:
		if f.Process != (handoff.Process{}) && r.ID > w.ProcessRecord {
			w.Process, w.ProcessRecord = f.Process, r.ID
		}
		if w.StartRecord != "" && w.StartRecord <= r.ID {
			return
		}
		w.Started = r.Seq
		w.StartRecord = r.ID
		w.StartedAt = f.StartedAt
		w.Parent = f.ParentWorkID
		w.Kind = f.Kind
		w.Name = f.Name
		w.Agent = f.Agent
		w.Model = f.Model
		w.Thread = f.Thread
		w.SessionID = f.SessionID
		w.RunID = f.RunID
		w.Ticket = f.Ticket
	case *handoff.WorkEnded:
		if f.Status == cancelled && (w.Cancelled == 0 || r.Seq < w.Cancelled) {
			w.Cancelled = r.Seq
		}
		reported, known := f.UsageSource == handoff.UsageFromHarness, w.UsageSource == handoff.UsageFromHarness
		if w.EndRecord != "" && ((known && !reported) || (known == reported && w.EndRecord <= r.ID)) {
			return
		}
		w.Ended = r.Seq
		w.EndRecord = r.ID
		w.EndedAt = f.EndedAt
		w.IsError = f.IsError
		w.Status = f.Status
		w.Usage, w.UsageSource = f.Usage, f.UsageSource
	}
}
