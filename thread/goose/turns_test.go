package goose_test

import (
	"fmt"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread/goose"
)

// TestTurns reads generated sessions after each change of their rows.
func TestTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: goose.Driver(),
		Setup: func(exec func(string, ...any), _, id string) {
			exec(schema)
			(&book{exec: exec}).session(id, "user", nil, nil)
		}, Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID, l.Path = fmt.Sprintf("20251202_%d", n+1), db
			return (&book{exec: l.Exec, id: l.ID}).record
		}})
}

// record writes the messages of a step.
func (b *book) record(step threadtest.Step) {
	switch step.Kind {
	case threadtest.Prompt:
		b.message("user", `{"userVisible":true}`, text(step.Text))
	case threadtest.Work:
		parts := []obj{text(step.Text)}
		for _, u := range step.Calls {
			parts = append(parts, call(u.ID, "shell"))
		}
		b.message("assistant", "", parts...)
	case threadtest.Result:
		b.message("user", "", result(step.Calls[0].ID, step.Text, step.Failed))
	case threadtest.Answer:
		b.message("assistant", "", text(step.Text))
	case threadtest.Failure, threadtest.Interrupt: // how they are recorded is not known
	case threadtest.Compaction:
		b.message("user", `{"userVisible":false}`, text(step.Text))
	}
}

// TestFileTurns truncates generated files of old versions at every record.
func TestFileTurns(t *testing.T) {
	threadtest.CheckTurns(t, threadtest.Turns{Driver: goose.Driver(),
		Start: func(n int, l *threadtest.Log) func(threadtest.Step) {
			l.ID = fmt.Sprintf("20250102_%d", n+1)
			l.Path = ".local/share/goose/sessions/" + l.ID + ".jsonl"
			l.Lines = []string{encode(obj{"description": "Old", "working_dir": "/home/u/project", "message_count": 2})}
			b := &book{exec: func(_ string, args ...any) { // a row has the members of a line
				l.Lines = append(l.Lines, fmt.Sprintf(`{"role":%q,"created":%d,"content":%s}`, args[1], args[3], args[2]))
			}}
			return func(step threadtest.Step) {
				if step.Kind != threadtest.Compaction {
					b.record(step)
				}
			}
		}})
}
