package threadtest

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/keep"
	"github.com/agent-handoff/handoff/thread"
)

// kept keeps a copy of every thread and reads it with the provider: messages, calls,
// state, usage and subagents are those of the transcript. Title and directory may be
// missing: some tools store them in files with those of other conversations. The usage
// of a fork may include requests that it copied from several threads.
func (s Suite) kept(t *testing.T) {
	_, set, want := s.home(t)
	kept := 0
	for _, w := range want {
		if w.Parent != "" {
			continue
		}
		u := thread.URI{Provider: s.Driver.Name, Thread: w.ID}
		v, err := set.Open(t.Context(), u)
		if err != nil {
			t.Errorf("%s: %v", w.ID, err)
			continue
		}
		p, err := keep.New(t.Context(), set, v, true)
		if errors.Is(err, handoff.Unsupported) {
			t.Logf("%s: %v", w.ID, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", w.ID, err)
			continue
		}
		var body, again bytes.Buffer
		if err := errors.Join(p.Write(t.Context(), &body), p.Write(t.Context(), &again)); err != nil || !bytes.Equal(body.Bytes(), again.Bytes()) {
			t.Errorf("%s: two copies with %d and %d bytes, %v", w.ID, body.Len(), again.Len(), err)
			continue
		}
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := keep.Extract(t.Context(), &body, handoff.ThreadKept{Thread: p.URI, Files: p.Files(), TranscriptBytes: p.Size, ModifiedAt: p.Modified}, root); err != nil {
			t.Errorf("%s: %v", w.ID, err)
			continue
		}
		copied, err := keep.At(set, s.Driver.Name, dir).Open(t.Context(), u)
		if err != nil {
			t.Errorf("%s: open the copy: %v", w.ID, err)
			continue
		}
		s.compare(t, v, copied)
		kept++
	}
	if kept == 0 && !s.Driver.Scattered {
		t.Log("no thread has files of its own")
	}
}

func (s Suite) compare(t *testing.T, v, copied *thread.View) {
	t.Helper()
	same := func(a, b *thread.Thread) {
		messages, calls := Messages(t, a)
		gotMessages, gotCalls := Messages(t, b)
		if !slices.Equal(gotMessages, messages) || !slices.Equal(gotCalls, calls) {
			t.Errorf("%s: the copy has messages\n%q\nwant\n%q", a.ID, gotMessages, messages)
		}
		if b.State.Status != a.State.Status || b.Usage.Tokens != a.Usage.Tokens && a.ForkedFrom == "" || b.Title != a.Title && b.Title != "" || b.Cwd != a.Cwd && b.Cwd != "" || b.Parent != a.Parent {
			t.Errorf("%s: the copy has %s, %+v, %q in %q, want %s, %+v, %q in %q", a.ID, b.State.Status, b.Usage.Tokens, b.Title, b.Cwd, a.State.Status, a.Usage.Tokens, a.Title, a.Cwd)
		}
	}
	same(v.Thread, copied.Thread)
	if err := errors.Join(v.LoadAgents(t.Context()), copied.LoadAgents(t.Context())); err != nil {
		t.Fatal(err)
	}
	if len(copied.Agents) != len(v.Agents) {
		t.Errorf("%s: the copy has %d subagents, want %d", v.Thread.ID, len(copied.Agents), len(v.Agents))
		return
	}
	for i, a := range v.Agents {
		b := copied.Agents[i]
		if a.ID != b.ID || a.State.Status != b.State.Status || (a.Thread == nil) != (b.Thread == nil) {
			t.Errorf("%s: the copy has subagent %s (%s), want %s (%s)", v.Thread.ID, b.ID, b.State.Status, a.ID, a.State.Status)
		} else if a.Thread != nil {
			same(a.Thread, b.Thread)
		}
	}
}
