package git_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestEditNote edits notes by eight writers at the same time: each adds a line to the note of
// one commit, and writes the note of a commit of its own.
func TestEditNote(t *testing.T) {
	const writers, ref = 8, "refs/notes/ai"
	dir := repository(t, fmt.Sprintf("for i in $(seq 0 %d); do git commit -q --allow-empty -m $i; done", writers))
	r := open(t, dir)
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "rev-list", "HEAD").Output()
	must(t, err)
	commits := strings.Fields(string(out))
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			line := func(old []byte) ([]byte, error) { return fmt.Appendf(old, "writer %d\n", i), nil }
			for _, commit := range []string{commits[0], commits[i+1]} {
				if err := r.EditNote(t.Context(), ref, commit, line); err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	var want []string
	for i := range writers {
		want = append(want, fmt.Sprintf("writer %d", i))
		note, err := r.Note(t.Context(), ref, commits[i+1])
		if err != nil || string(note) != want[i]+"\n" {
			t.Errorf("got note %q, %v of commit %d, want %q", note, err, i+1, want[i])
		}
	}
	note, err := r.Note(t.Context(), ref, commits[0])
	must(t, err)
	got := strings.Split(strings.TrimSpace(string(note)), "\n")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got lines %q, want %q", got, want)
	}
	must(t, r.EditNote(t.Context(), ref, commits[0], func([]byte) ([]byte, error) { return nil, nil }))
	if same, err := r.Note(t.Context(), ref, commits[0]); err != nil || string(same) != string(note) {
		t.Errorf("without an edit, the note is %q, %v", same, err)
	}
}
