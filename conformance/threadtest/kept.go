package threadtest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/keep"
	"github.com/agent-handoff/handoff/thread"
)

// kept keeps a copy of every thread and reads it with the provider: messages, calls,
// state, usage and subagents are those of the transcript. Title and directory may be
// missing: some tools store them in files with those of other threads. The usage
// of a fork may include requests that it copied from several threads.
func (s Suite) kept(t *testing.T) {
	_, set, want := s.home(t)
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
		dir := t.TempDir()
		first, err := copyTo(t, set, v, dir)
		if err != nil {
			t.Errorf("%s: %v", w.ID, err)
			continue
		}
		if again, err := copyTo(t, set, v, t.TempDir()); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: two copies with %d and %d bytes, %v", w.ID, len(first), len(again), err)
			continue
		}
		copied, err := keep.At(set, s.Driver.Name, dir).Open(t.Context(), u)
		if err != nil {
			t.Errorf("%s: open the copy: %v", w.ID, err)
			continue
		}
		s.compare(t, v, copied)
		for _, other := range want {
			if other.Parent == "" && other.ID != w.ID && other.ID != v.Thread.ForkedFrom {
				checkAbsent(t, dir, w, other)
			}
		}
	}
}

// copyTo returns a copy of a thread, and extracts it to dir.
func copyTo(t *testing.T, set *thread.Set, v *thread.View, dir string) ([]byte, error) {
	t.Helper()
	p, err := keep.New(t.Context(), set, v, true)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var body bytes.Buffer
	if err := p.Write(t.Context(), &body); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	k := handoff.ThreadKept{Thread: p.URI, Files: p.Files(), TranscriptBytes: p.Size, ModifiedAt: p.Modified}
	return body.Bytes(), keep.Extract(t.Context(), bytes.NewReader(body.Bytes()), k, root)
}

// checkAbsent checks that the copy of a thread in dir has no message of another
// one, except equal ones.
func checkAbsent(t *testing.T, dir string, kept, other Thread) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content := ReadFile(t, path)
		for _, m := range other.Messages {
			_, text, _ := strings.Cut(m, ": ")
			same := slices.ContainsFunc(kept.Messages, func(own string) bool { return strings.Contains(own, text) })
			if len(text) >= 8 && !same && strings.Contains(content, text) {
				t.Errorf("%s: %s of the copy has a message of %s: %q", kept.ID, filepath.Base(path), other.ID, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
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
		if b.State.Status != a.State.Status || (b.Usage.Tokens != a.Usage.Tokens && a.ForkedFrom == "") ||
			(b.Title != a.Title && b.Title != "") || (b.Cwd != a.Cwd && b.Cwd != "") || b.Parent != a.Parent {
			t.Errorf("%s: the copy has %s, %+v, %q in %q, want %s, %+v, %q in %q", a.ID, b.State.Status, b.Usage.Tokens,
				b.Title, b.Cwd, a.State.Status, a.Usage.Tokens, a.Title, a.Cwd)
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
		if a.Name != b.Name || a.Role != b.Role || !slices.Equal(a.Aliases, b.Aliases) {
			t.Errorf("%s: the copy has subagent %q with role %q and aliases %q, want %q, %q, %q", v.Thread.ID, b.Name,
				b.Role, b.Aliases, a.Name, a.Role, a.Aliases)
		}
		if a.ID != b.ID || a.State.Status != b.State.Status || (a.Thread == nil) != (b.Thread == nil) {
			t.Errorf("%s: the copy has subagent %s (%s), want %s (%s)", v.Thread.ID, b.ID, b.State.Status, a.ID,
				a.State.Status)
		} else if a.Thread != nil {
			same(a.Thread, b.Thread)
		}
	}
}
