package threadindex_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
)

// A scarce provider has many transcripts, of which few are open at a time, as those of
// kept copies are.
type scarce struct {
	thread.Provider
	mu     sync.Mutex
	opened int
}

func (s *scarce) Stored(context.Context) iter.Seq2[*thread.Stored, error] {
	return func(yield func(*thread.Stored, error) bool) {
		for n := range 300 {
			id := fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", n)
			open := func(context.Context) ([]*thread.Thread, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.opened++
				return []*thread.Thread{{Provider: "scarce", ID: id, Reader: scarceReader{s, s.opened}}}, nil
			}
			if !yield(&thread.Stored{Key: id, Modified: time.Unix(1790000000, int64(n)), Opener: thread.OpenFunc(open)}, nil) {
				return
			}
		}
	}
}

// A scarceReader reads a transcript unless 128 others were opened after it.
type scarceReader struct {
	*scarce
	n int
}

func (r scarceReader) Read(_ context.Context, _ thread.Detail, emit func(thread.Message) error) (thread.Facts, error) {
	r.mu.Lock()
	opened := r.opened - r.n
	r.mu.Unlock()
	if opened > 128 {
		return thread.Facts{}, errors.New("removed")
	}
	return thread.Facts{}, emit(thread.Message{N: 1, Role: thread.User, Text: "one"})
}

// TestEachPromptOfMany reads transcripts while they are open.
func TestEachPromptOfMany(t *testing.T) {
	set := thread.NewSet([]thread.Driver{{Name: "scarce", ID: thread.UUIDs, Roots: thread.Home("", ""),
		Open: func([]string) (thread.Provider, error) { return new(scarce), nil }}}, func(string) string { return "" }, "")
	want := map[string]bool{}
	for n := range 300 {
		want[fmt.Sprintf("agents://scarce/aaaaaaaa-0000-4000-8000-%012d", n)] = true
	}
	got := map[string]bool{}
	warnings, err := threadindex.NewFiles(set).EachPrompt(t.Context(), time.Time{}, want,
		func(p threadindex.Prompt) error {
			got[p.Thread] = true
			return nil
		})
	if err != nil || len(warnings) > 0 || len(got) != len(want) {
		t.Errorf("got prompts of %d threads, %d warnings, %v, want %d", len(got), len(warnings), err, len(want))
	}
}

// TestEachPrompt checks that each prompt of the wanted threads is passed once,
// without the answers, the copies of a transcript and those that are too old.
func TestEachPrompt(t *testing.T) {
	tr := newTree(t, 1)
	write := func(dir, id string, modified time.Time, roles ...string) {
		lines := []string{
			line(object{"timestamp": "2026-09-20T09:00:00Z", "type": "session_meta",
				"payload": object{"id": id, "cwd": "/p", "cli_version": "0.150.0"}})}
		for i, role := range roles {
			content := []object{{"type": "input_text", "text": fmt.Sprintf("%s %d of %s", role, i+1, id[:8])}}
			lines = append(lines,
				line(object{"timestamp": "2026-09-20T09:00:01Z", "type": "response_item",
					"payload": object{"type": "message", "role": role, "content": content}}))
		}
		file := filepath.Join(tr.home, ".codex", dir, "rollout-2026-09-20T09-00-00-"+id+".jsonl")
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
		must(t, os.Chtimes(file, modified, modified))
	}
	now := time.Now()
	a, b, old, other := "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002",
		"cccccccc-0000-4000-8000-000000000003", "dddddddd-0000-4000-8000-000000000004"
	write("sessions/2026/09/20", a, now, "user", "assistant", "user")
	write("archived_sessions", a, now.Add(-time.Minute), "user")
	write("sessions/2026/09/20", b, now, "user")
	write("sessions/2026/09/20", old, now.Add(-time.Hour), "user")
	write("sessions/2026/09/20", other, now, "user")
	want := map[string]bool{"agents://codex/" + a: true, "agents://codex/" + b: true, "agents://codex/" + old: true}
	files := threadindex.NewFiles(tr.set())
	for _, archive := range []threadindex.Archive{files,
		threadindex.NewIndex(files, filepath.Join(t.TempDir(), "threads.db"), time.Now, nil)} {
		var got []string
		warnings, err := archive.EachPrompt(t.Context(), now.Add(-10*time.Minute), want, func(p threadindex.Prompt) error {
			if !strings.HasPrefix(p.URI.String(), p.Thread+"#M") || p.At.IsZero() {
				t.Errorf("prompt %+v", p)
			}
			got = append(got, p.Text)
			return nil
		})
		must(t, err)
		slices.Sort(got)
		if want := []string{"user 1 of aaaaaaaa", "user 1 of bbbbbbbb", "user 3 of aaaaaaaa"}; !slices.Equal(got, want) ||
			len(warnings) > 0 {
			t.Errorf("got %q, want %q; warnings %q", got, want, warnings)
		}
		stop := errors.New("stop")
		if warnings, err := archive.EachPrompt(t.Context(), time.Time{}, want,
			func(threadindex.Prompt) error { return stop }); !errors.Is(err, stop) || len(warnings) > 0 {
			t.Errorf("got error %v and warnings %q, want that of use", err, warnings)
		}
	}
}
