package setup

import (
	"errors"
	"testing"
	"time"
)

// TestNoteHook checks that successes are noted once a minute, and each failure.
func TestNoteHook(t *testing.T) {
	dir, at := t.TempDir(), time.Unix(1000, 0).UTC()
	for _, step := range []struct {
		after   time.Duration
		failure error
		want    Note
	}{
		{0, nil, Note{LastHook: at}},
		{30 * time.Second, nil, Note{LastHook: at}},
		{31 * time.Second, errors.New("no disk"),
			Note{LastHook: at.Add(31 * time.Second), LastFailure: at.Add(31 * time.Second), Failure: "no disk"}},
		{99 * time.Second, nil, Note{LastHook: at.Add(99 * time.Second), LastFailure: at.Add(31 * time.Second),
			Failure: "no disk"}},
		// the clock was set back
		{-time.Hour, nil, Note{LastHook: at.Add(-time.Hour), LastFailure: at.Add(31 * time.Second), Failure: "no disk"}},
	} {
		NoteHook(dir, "claude", at.Add(step.after), step.failure)
		if got := readNote(dir, "claude"); got != step.want {
			t.Errorf("after %v: got %+v, want %+v", step.after, got, step.want)
		}
	}
	NoteCall(dir, "claude-code", at)
	NoteCall(dir, "claude-code", at.Add(-time.Hour))
	if got := readNote(dir, "claude").LastCall; !got.Equal(at.Add(-time.Hour)) {
		t.Errorf("a call after the clock was set back is noted at %v", got)
	}
}
