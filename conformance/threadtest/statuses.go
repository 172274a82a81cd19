package threadtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// CheckStatuses truncates each transcript of a suite whose transcripts are lines
// after every line, and compares the states with testdata/statuses.txt. A transcript
// that ends within a line must not be completed.
func CheckStatuses(t *testing.T, s Suite) {
	t.Helper()
	home := t.TempDir()
	want := s.Write(t, home)
	var got strings.Builder
	for _, w := range want {
		p := s.provider(t, s.set(home))
		th, err := p.Thread(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		complete, err := os.ReadFile(th.Source)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s\n", w.ID)
		n := 0
		for end, line := range append(bytes.SplitAfter(complete, []byte("\n")), nil) {
			if len(line) == 0 && end > 0 {
				break
			}
			fmt.Fprintf(&got, "%4d %s\n", end, describe(stateOf(t, p, w.ID, th.Source, complete[:n])))
			if torn := stateOf(t, p, w.ID, th.Source, complete[:n+len(line)/2]); torn.Status == thread.Completed {
				t.Errorf("%s: within line %d: got %s", w.ID, end+1, describe(torn))
			}
			n += len(line)
		}
		fmt.Fprintf(&got, " end %s\n", describe(stateOf(t, p, w.ID, th.Source, complete)))
	}
	Golden(t, "statuses.txt", got.String())
}

// stateOf returns the state of a thread whose transcript is content.
func stateOf(t *testing.T, p thread.Provider, id, source string, content []byte) thread.State {
	t.Helper()
	return reread(t, p, id, source, content).State
}

func reread(t *testing.T, p thread.Provider, id, source string, content []byte) *thread.Thread {
	t.Helper()
	if err := os.WriteFile(source, content, 0o600); err != nil {
		t.Fatal(err)
	}
	th, err := p.Thread(t.Context(), id)
	if err == nil {
		err = th.Load(t.Context())
	}
	if errors.Is(err, handoff.NotFound) { // the ID is in the content
		return &thread.Thread{Facts: thread.Facts{
			State: thread.ReadState(thread.NotFound, thread.Inferred, time.Time{}, "no thread has this ID")}}
	}
	if err != nil {
		t.Fatalf("%s: after %d bytes: %v", id, len(content), err)
	}
	return th
}

func describe(s thread.State) string {
	text := fmt.Sprintf("%s %s: %s", s.Status, s.Source, s.Evidence)
	if s.Waiting != "" {
		text += "; waits for " + s.Waiting
	}
	return text
}
