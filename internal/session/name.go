package session

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/agent-handoff/handoff"
	"github.com/clipperhouse/displaywidth"
)

// summaryWidth is how wide the summary in a session's name may be, in columns
// of a terminal, with the dots of what was cut.
const summaryWidth = 35

// Name is the session's short name: when it began, as one would say it now,
// what it was about, and its status. A name that a user set stands in place of
// the first two. Now's location is the reader's.
func Name(s handoff.Session, status string, now time.Time) string {
	name := s.Name
	switch {
	case name != "":
	case s.OpenedAt.IsZero():
		name = s.ID
	default:
		name = timestamp(s.OpenedAt, now) + " - " + Summary(s)
	}
	if mark := statusMark(status); mark != "" {
		name += " (" + mark + ")"
	}
	return name
}

// LongName is the session's name by its agent: "Casey - deep-dive-app (Oct 5,
// 2025, 2:30 PM)", with the time of its end. Other statuses than completed
// stand with the time, or in its place while there is no end.
func LongName(s handoff.Session, status string, now time.Time) string {
	if s.OpenedAt.IsZero() {
		return s.ID
	}
	end := s.ClosedAt
	if end.IsZero() {
		end = s.OpenedAt
	}
	when, mark := end.In(now.Location()).Format("Jan 2, 2006, 3:04 PM"), statusMark(status)
	switch status {
	case Failed, Cancelled:
		when = mark + ", " + when
	case handoff.Running, Stalled:
		when = mark
	}
	name := cmp.Or(s.Name, cmp.Or(s.Agent.Title, s.Agent.Name)+" - "+s.Workflow.Name)
	return name + " (" + when + ")"
}

func statusMark(status string) string {
	switch status {
	case handoff.Running:
		return "In Progress"
	case Completed:
		return ""
	}
	return strings.ToUpper(status[:min(1, len(status))]) + status[min(1, len(status)):]
}

// timestamp returns when t was, to a reader at now in now's location: "2:30p"
// today, "Yday 2:30p", "Mon 2:30p" in this week, which begins on Monday, else
// "Oct 5", with the year where it is another. A time more than a day ahead is
// marked.
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

// midnight returns the beginning of the day that lies the given number of days
// after t's.
func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// Summary says in at most 35 columns what a session is about: as its user
// summed it up, else its workflow and the input that says most, else its
// workflow or agent.
func Summary(s handoff.Session) string {
	text := s.Summary
	if strings.TrimSpace(text) == "" {
		text = s.Workflow.Name
		if input := mostSpecific(s.Inputs); input != "" {
			text += ": " + input
		}
	}
	return Truncate(cmp.Or(text, s.Agent.Title, s.Agent.Name, s.ID))
}

// mostSpecific returns the input that says most: project_name, else category, else
// the first that has a text.
func mostSpecific(inputs map[string]json.RawMessage) string {
	for _, key := range append([]string{"project_name", "category"}, slices.Sorted(maps.Keys(inputs))...) {
		var text string
		if json.Unmarshal(inputs[key], &text) == nil && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// Truncate returns the first line of a text that has one, its white space
// collapsed, cut between characters to at most 35 columns with three dots.
func Truncate(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			line = strings.Map(func(r rune) rune {
				if unicode.IsControl(r) {
					return -1
				}
				return r
			}, line)
			return displaywidth.TruncateString(line, summaryWidth, "...")
		}
	}
	return ""
}
