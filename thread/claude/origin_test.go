package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
)

// TestHeads asks for the heads of a directory several times: none is read that was written before the times that
// were asked for.
func TestHeads(t *testing.T) {
	dir, start := t.TempDir(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(n int) {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", n)
		name := filepath.Join(dir, id+plain)
		text := `{"type":"user","uuid":"` + id + `","message":{"role":"user","content":"go"}}` + "\n"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := start.AddDate(0, 0, n)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 10 {
		write(n)
	}
	x := index{folders: map[string]*heads{}}
	count := func(since int) int {
		list := x.in(thread.NewWalk(t.Context()), dir, start.AddDate(0, 0, since))
		for path, first := range list {
			if filepath.Base(path) != first+plain {
				t.Errorf("%s: got the first prompt %q", path, first)
			}
		}
		return len(list)
	}
	for _, tt := range []struct{ since, want int }{{8, 2}, {9, 2}, {6, 4}, {0, 10}} {
		if got := count(tt.since); got != tt.want {
			t.Errorf("since day %d: got %d heads, want %d", tt.since, got, tt.want)
		}
	}
	write(20)
	if err := os.Chtimes(dir, start, start); err != nil { // the directory changed, however short the time
		t.Fatal(err)
	}
	if got, want := count(15), 11; got != want {
		t.Errorf("with a new transcript: got %d heads, want %d", got, want)
	}
}
