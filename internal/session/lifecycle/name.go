package lifecycle

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/session"
)

// Name returns the session's short name: its start time relative to now, its
// summary and its status. A name that a user set replaces the first two. The
// location of now is the reader's.
func Name(s handoff.Session, status string, now time.Time) string {
	name := s.Name
	switch {
	case name != "":
	case s.OpenedAt.IsZero():
		name = s.ID
	default:
		name = timestamp(s.OpenedAt, now) + " - " + Summary(s)
	}
	if text := statusText(status); text != "" {
		name += " (" + text + ")"
	}
	return name
}

// LongName returns the session's name by its agent and workflow, with the time
// of its end: "Casey - deep-dive-app (Oct 5, 2025, 2:30 PM)". A status other
// than completed precedes the time, or replaces it if there is no end yet.
func LongName(s handoff.Session, status string, now time.Time) string {
	if s.OpenedAt.IsZero() {
		return s.ID
	}
	end := s.ClosedAt
	if end.IsZero() {
		end = s.OpenedAt
	}
	when, text := end.In(now.Location()).Format("Jan 2, 2006, 3:04 PM"), statusText(status)
	switch status {
	case session.Failed, session.Cancelled:
		when = text + ", " + when
	case handoff.Running, Stalled:
		when = text
	}
	return label(s) + " (" + when + ")"
}

// Label returns the session's long name without its status and time: "Casey - deep-dive-app".
func Label(s handoff.Session) string {
	return cmp.Or(strings.TrimSuffix(strings.TrimPrefix(label(s), between), between), s.ID)
}

// between is what is between the agent and the workflow in a name.
const between = " - "

func label(s handoff.Session) string {
	return cmp.Or(s.Name, cmp.Or(s.Agent.Title, s.Agent.Name)+between+s.Workflow.Name)
}

// statusText returns a status as it is shown in a name, "" for completed.
func statusText(status string) string {
	switch status {
	case handoff.Running:
		return "In Progress"
	case session.Completed:
		return ""
	}
	return strings.ToUpper(status[:min(1, len(status))]) + status[min(1, len(status)):]
}

// timestamp formats t relative to now, in now's location: "2:30p" today, "Yday
// 2:30p", "Mon 2:30p" in the same week (which starts on Monday), otherwise "Oct
// 5", with the year if it differs. A time more than a day ahead is marked.
func timestamp(t, now time.Time) string {
	t = t.In(now.Location())
	clock := strings.TrimSuffix(t.Format("3:04pm"), "m")
	monday := midnight(now, -(int(now.Weekday())+6)%7)
	text := t.Format("Jan 2")
	switch {
	case midnight(t, 0).Equal(midnight(now, 0)):
		text = clock
	case midnight(t, 0).Equal(midnight(now, -1)):
		text = "Yday " + clock
	case !t.Before(monday) && t.Before(midnight(monday, 7)):
		text = t.Format("Mon ") + clock
	case t.Year() != now.Year():
		text = t.Format("Jan 2 2006")
	}
	if t.Sub(now) > 24*time.Hour {
		text += " (future)"
	}
	return text
}

// midnight returns the start of the day that is the given number of days after
// t's day.
func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// Summary describes a session in at most 35 columns: its user's summary,
// otherwise its workflow and its most specific input, otherwise its agent.
func Summary(s handoff.Session) string {
	text := s.Summary
	if strings.TrimSpace(text) == "" {
		text = s.Workflow.Name
		if input := mostSpecific(s.Inputs); input != "" {
			text += ": " + input
		}
	}
	return manifest.Truncate(cmp.Or(text, s.Agent.Title, s.Agent.Name, s.ID))
}

// mostSpecific returns the text of the input project_name, otherwise category,
// otherwise the first input that has a text.
func mostSpecific(inputs map[string]json.RawMessage) string {
	for _, key := range append([]string{"project_name", "category"}, slices.Sorted(maps.Keys(inputs))...) {
		var text string
		if json.Unmarshal(inputs[key], &text) == nil && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}
