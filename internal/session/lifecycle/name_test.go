package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	v, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTimestamp(t *testing.T) {
	for _, tt := range []struct{ now, at, want string }{
		{"2025-10-08 12:00", "2025-10-08 14:30", "2:30p"}, // later today
		{"2025-10-08 12:00", "2025-10-08 00:05", "12:05a"},
		{"2025-10-08 12:00", "2025-10-08 12:00", "12:00p"},
		{"2025-10-08 12:00", "2025-10-07 16:45", "Yday 4:45p"},
		{"2025-10-08 12:00", "2025-10-06 09:15", "Mon 9:15a"},
		{"2025-10-08 12:00", "2025-10-05 14:30", "Oct 5"},               // last Sunday
		{"2025-10-08 12:00", "2025-10-09 10:00", "Thu 10:00a"},          // ahead, less than a day
		{"2025-10-08 12:00", "2025-10-11 10:00", "Sat 10:00a (future)"}, // ahead, in this week
		{"2025-10-08 12:00", "2025-10-12 23:59", "Sun 11:59p (future)"},
		{"2025-10-08 12:00", "2025-10-13 00:00", "Oct 13 (future)"}, // next week
		{"2025-10-08 12:00", "2024-10-05 12:00", "Oct 5 2024"},
		{"2025-10-06 10:00", "2025-10-05 10:00", "Yday 10:00a"}, // Monday, and the Sunday before
		{"2025-10-12 10:00", "2025-10-06 10:00", "Mon 10:00a"},  // Sunday ends the week
		{"2025-10-12 10:00", "2025-10-05 10:00", "Oct 5"},
		{"2026-01-01 10:00", "2025-12-31 10:00", "Yday 10:00a"},
		{"2026-01-02 10:00", "2025-12-29 10:00", "Mon 10:00a"}, // the week crosses the year
	} {
		if got := timestamp(at(t, tt.at), at(t, tt.now)); got != tt.want {
			t.Errorf("timestamp(%s, now %s) = %q, want %q", tt.at, tt.now, got, tt.want)
		}
	}
}

func TestTimestampInReadersZone(t *testing.T) {
	newYork := time.FixedZone("EDT", -4*60*60)
	now := time.Date(2025, 10, 20, 12, 0, 0, 0, newYork)
	if got, want := timestamp(time.Date(2025, 10, 5, 2, 30, 0, 0, time.UTC), now), "Oct 4"; got != want {
		t.Errorf("Timestamp = %q, want %q", got, want)
	}
}

func TestName(t *testing.T) {
	now := at(t, "2025-10-20 12:00")
	base := handoff.Session{ID: "id", OpenedAt: at(t, "2025-10-05 14:30"),
		Agent: handoff.SessionAgent{Name: "casey", Title: "Casey"}, Workflow: handoff.SessionWorkflow{Name: "intake-app"}}
	with := func(change func(*handoff.Session)) handoff.Session { s := base; change(&s); return s }
	ended := with(func(s *handoff.Session) { s.ClosedAt = at(t, "2025-10-06 17:09") })
	input := func(pairs ...string) handoff.Session {
		return with(func(s *handoff.Session) {
			s.Inputs = map[string]json.RawMessage{}
			for i := 0; i < len(pairs); i += 2 {
				s.Inputs[pairs[i]] = json.RawMessage(pairs[i+1])
			}
		})
	}
	for _, tt := range []struct {
		session            handoff.Session
		status, name, long string
	}{
		{base, "running", "Oct 5 - intake-app (In Progress)", "Casey - intake-app (In Progress)"},
		{base, "stalled", "Oct 5 - intake-app (Stalled)", "Casey - intake-app (Stalled)"},
		{ended, "completed", "Oct 5 - intake-app", "Casey - intake-app (Oct 6, 2025, 5:09 PM)"},
		{ended, "failed", "Oct 5 - intake-app (Failed)", "Casey - intake-app (Failed, Oct 6, 2025, 5:09 PM)"},
		{ended, "cancelled", "Oct 5 - intake-app (Cancelled)", "Casey - intake-app (Cancelled, Oct 6, 2025, 5:09 PM)"},
		{input("project_name", `"Time Tracking System"`, "category", `"x"`), "completed",
			"Oct 5 - intake-app: Time Tracking System", "Casey - intake-app (Oct 5, 2025, 2:30 PM)"},
		{input("project_name", `" "`, "category", `"Laptops"`), "completed", "Oct 5 - intake-app: Laptops",
			"Casey - intake-app (Oct 5, 2025, 2:30 PM)"},
		{input("b", `"second"`, "a", `7`), "completed", "Oct 5 - intake-app: second",
			"Casey - intake-app (Oct 5, 2025, 2:30 PM)"},
		{with(func(s *handoff.Session) { s.Summary = "I need to purchase 10 laptops for the office" }), "completed",
			"Oct 5 - I need to purchase 10 laptops fo...", "Casey - intake-app (Oct 5, 2025, 2:30 PM)"},
		{with(func(s *handoff.Session) { s.Workflow.Name = "" }), "completed", "Oct 5 - Casey",
			"Casey -  (Oct 5, 2025, 2:30 PM)"},
		{with(func(s *handoff.Session) { s.Name = "Mine" }), "failed", "Mine (Failed)",
			"Mine (Failed, Oct 5, 2025, 2:30 PM)"},
		{handoff.Session{ID: "id"}, "completed", "id", "id"},
	} {
		if got := Name(tt.session, tt.status, now); got != tt.name {
			t.Errorf("Name(%s) = %q, want %q", tt.status, got, tt.name)
		}
		if got := LongName(tt.session, tt.status, now); got != tt.long {
			t.Errorf("LongName(%s) = %q, want %q", tt.status, got, tt.long)
		}
		want, _, _ := strings.Cut(tt.long, " (")
		if got, want := Label(tt.session), strings.TrimSuffix(want, " - "); got != want {
			t.Errorf("Label(%s) = %q, want %q", tt.status, got, want)
		}
	}
}

func TestStatusAt(t *testing.T) {
	here, parent, child := Observer{BootID: "b", PIDNamespace: "n"}, handoff.Process{
		BootID: "b", PIDNamespace: "n", PID: 1}, handoff.Process{BootID: "b", PIDNamespace: "n", PID: 2}
	now := at(t, "2025-10-08 12:00")
	alive := func(list ...handoff.Process) func(handoff.Process) bool {
		return func(p handoff.Process) bool {
			for _, q := range list {
				if p == q {
					return true
				}
			}
			return false
		}
	}
	from := func(boot, namespace string) Observer { return Observer{boot, namespace, alive()} }
	here.Alive = alive()
	observing := func(list ...handoff.Process) Observer { o := here; o.Alive = alive(list...); return o }
	fresh, old := now.Add(-time.Minute), now.Add(-StalledAfter-1)
	for _, tt := range []struct {
		name       string
		parent     handoff.Process
		child      handoff.Process
		o          Observer
		newest     time.Time
		status     string
		want, note string
	}{
		{"both gone", parent, child, here, fresh, "running", "failed", handoff.ProcessGone},
		{"the child is alive", parent, child, observing(child), old, "running", "running", ""},
		{"handoff is alive", parent, child, observing(parent), old, "running", "running", ""},
		{"another boot", parent, child, from("c", "n"), fresh, "running", "running", ""},
		{"another namespace", parent, child, from("b", "m"), fresh, "running", "running", ""},
		{"another machine, no activity", parent, child, from("c", "n"), old, "running", "stalled",
			"last seen 30 min ago"},
		{"nobody waits, and no child recorded", parent, handoff.Process{}, here, fresh, "running", "stalled",
			handoff.ProcessGone},
		{"no process, no activity", handoff.Process{}, handoff.Process{}, here, old, "running", "stalled",
			"last seen 30 min ago"},
		{"no observer", parent, child, Observer{}, fresh, "running", "running", ""},
		{"no activity for exactly StalledAfter", handoff.Process{}, handoff.Process{}, here, now.Add(-StalledAfter),
			"running", "running", ""},
		{"closed", parent, child, here, old, "completed", "completed", ""},
	} {
		s := handoff.Session{Status: tt.status, Process: tt.parent, Child: tt.child, NewestAt: tt.newest}
		if got, note := StatusAt(s, tt.o, now, time.Time{}); got != tt.want || note != tt.note {
			t.Errorf("%s: StatusAt = %s %q, want %s %q", tt.name, got, note, tt.want, tt.note)
		}
	}
	adopted := handoff.Session{Status: "running", Adopted: []byte("{}"), OpenedAt: old, NewestAt: fresh}
	if got, _ := StatusAt(adopted, here, now, fresh); got != Stalled {
		t.Errorf("status of an old session that was adopted now = %s, want stalled", got)
	}
	adopted.OpenedAt = fresh
	if got, _ := StatusAt(adopted, here, now, time.Time{}); got != handoff.Running {
		t.Errorf("status of a new session that was adopted = %s, want running", got)
	}
	if got, _ := StatusAt(handoff.Session{Status: "running", NewestAt: old}, here, now, fresh); got != "running" {
		t.Errorf("status of a session with a new artifact = %s, want running", got)
	}
}
