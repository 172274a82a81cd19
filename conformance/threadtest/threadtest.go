// Package threadtest is the conformance suite for providers of package thread.
//
// A provider must find every thread, list no subagent as a thread, read truncated,
// damaged and hostile transcripts without failing, read a transcript larger than
// memory, and never write. To test one, describe it in a [Suite] and call [Run]:
//
//	threadtest.Run(t, threadtest.Suite{Driver: codex.Driver(), Write: home, Lines: true})
//
// [CheckTurns] checks the states of threads that grow.
//
// Tests with published transcripts need a copy of them. HANDOFF_TRANSCRIPTS is its
// directory, and HANDOFF_XURL the directory of the recorded answers of xurl. Tests
// are skipped if the variable is not set.
package threadtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/page"
)

// A Suite tests one provider.
type Suite struct {
	Driver thread.Driver

	// Write writes files as the tool does to a home directory, with invented
	// content. It returns every thread in them, including subagents with a
	// transcript of their own.
	Write func(t testing.TB, home string) []Thread

	// Lines is set if a transcript is a file of lines, which can be damaged one by
	// one.
	Lines bool

	// Big writes a transcript of at least size bytes to a home directory and
	// returns its ID. It is nil if the format can't be streamed.
	Big func(t testing.TB, home string, size int64) (id string)
}

// A Thread is the expected content of a thread.
type Thread struct {
	ID       string
	Parent   string   // of a subagent
	Messages []string // "role: text"
	Calls    []string // "name: output"
	Status   thread.Status
	Source   thread.StatusSource
	Usage    thread.Tokens
	Complete thread.Completeness
	Agents   []Agent
}

// An Agent is the expected content of a subagent.
type Agent struct {
	ID     string
	Status thread.Status
	Source thread.StatusSource
	Last   string // the text of its last message; "" if there is none

	Inferred bool // no record proves that it is a subagent of the thread
}

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the tests lack time, not memory
	t.Run("Read", s.read)
	t.Run("List", s.list)
	t.Run("Stored", s.stored)
	t.Run("Agents", s.agents)
	t.Run("Missing", s.missing)
	t.Run("Escape", s.escape)
	t.Run("Stop", s.stop)
	t.Run("Write", s.write)
	t.Run("Pages", s.pages)
	t.Run("Concurrent", s.concurrent)
	t.Run("Kept", s.kept)
	t.Run("Resume", s.resume)
	t.Run("Damaged", s.damaged)
	t.Run("Renamed", s.renamed)
	t.Run("Big", s.big)
}

// home creates a home directory and the set that reads it. The test fails if the
// directory is modified.
func (s Suite) home(t *testing.T) (string, *thread.Set, []Thread) {
	t.Helper()
	home := t.TempDir()
	want := s.Write(t, home)
	CheckUnchanged(t, home)
	return home, s.set(home), want
}

func (s Suite) set(home string) *thread.Set {
	return thread.NewSet([]thread.Driver{s.Driver}, func(string) string { return "" }, home)
}

func (s Suite) provider(t testing.TB, set *thread.Set) thread.Provider {
	t.Helper()
	p, err := set.Provider(s.Driver.Name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (s Suite) read(t *testing.T) {
	_, set, want := s.home(t)
	p := s.provider(t, set)
	for _, w := range want {
		th, err := p.Thread(t.Context(), w.ID)
		if err != nil {
			t.Errorf("%s: %v", w.ID, err)
			continue
		}
		got, calls := Messages(t, th)
		if !slices.Equal(got, w.Messages) {
			t.Errorf("%s: got messages\n%s\nwant\n%s", w.ID, strings.Join(got, "\n"), strings.Join(w.Messages, "\n"))
		}
		if !slices.Equal(calls, w.Calls) {
			t.Errorf("%s: got calls %q, want %q", w.ID, calls, w.Calls)
		}
		if th.ID != w.ID || th.Parent != w.Parent || th.State.Status != w.Status ||
			(w.Source != "" && th.State.Source != w.Source) {
			t.Errorf("%s: got %s of %q, %s from %s, want %q, %s from %s", w.ID, th.ID, th.Parent, th.State.Status,
				th.State.Source, w.Parent, w.Status, w.Source)
		}
		if th.Usage.Tokens != w.Usage || th.Usage.Completeness != w.Complete {
			t.Errorf("%s: got usage %+v, want %+v (%s)", w.ID, th.Usage, w.Usage, w.Complete)
		}
		if th.State.Evidence == "" || (th.Usage.Completeness != thread.Exact && th.Usage.Reason == "") {
			t.Errorf("%s: state without evidence or usage without reason: %+v %+v", w.ID, th.State, th.Usage)
		}
		if info, err := os.Stat(th.Source); !filepath.IsAbs(th.Source) || err != nil || info.IsDir() {
			t.Errorf("%s: source %q is not a file (%v)", w.ID, th.Source, err)
		}
		checkRequests(t, th)
		sameFacts(t, p, th)
	}
}

// sameFacts loads a thread again: its facts must not depend on the detail.
func sameFacts(t *testing.T, p thread.Provider, read *thread.Thread) {
	t.Helper()
	again, err := p.Thread(t.Context(), read.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := read.Facts
	want.Messages = again.Messages
	for i := range want.Requests { // the messages are not counted either
		want.Requests[i].N = again.Requests[i].N
	}
	if !reflect.DeepEqual(again.Facts, want) {
		t.Errorf("%s: facts depend on the detail: %+v and %+v", read.ID, again.Facts, want)
	}
}

// Messages reads all messages of a thread, as "role: text", and its calls, as
// "name: output".
func Messages(t testing.TB, th *thread.Thread) (messages, calls []string) {
	t.Helper()
	n := 0
	err := th.Read(context.Background(), thread.Tools, func(m thread.Message) error {
		for _, c := range m.Tools {
			calls = append(calls, c.Name+": "+c.Output)
		}
		if m.N == 0 {
			return nil
		}
		if n++; m.N != n {
			t.Errorf("%s: message %d has number %d", th.ID, n, m.N)
		}
		messages = append(messages, string(m.Role)+": "+m.Text)
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", th.ID, err)
	}
	return messages, calls
}

func (s Suite) list(t *testing.T) {
	_, set, want := s.home(t)
	var ids, wantIDs []string
	for th, err := range s.provider(t, set).Threads(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, th.ID)
	}
	for _, w := range want {
		if w.Parent == "" {
			wantIDs = append(wantIDs, w.ID)
		}
	}
	slices.Sort(ids)
	slices.Sort(wantIDs)
	if !slices.Equal(ids, wantIDs) {
		t.Errorf("got threads %q, want %q", ids, wantIDs)
	}
}

// stored checks that the transcripts contain every thread, including subagents, and
// that a stamp changes with its files.
func (s Suite) stored(t *testing.T) {
	home := t.TempDir()
	want := s.Write(t, home)
	ids := map[string]bool{}
	stamps := map[string]uint64{}
	p := s.provider(t, s.set(home))
	for st, err := range thread.StoredIn(t.Context(), s.Driver.Name, p) {
		if err != nil {
			t.Fatal(err)
		}
		threads, err := st.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if stamps[st.Key] != 0 || st.Stamp == 0 || st.Modified.IsZero() {
			t.Errorf("got transcript %+v, want a key of its own, a stamp and a time", st)
		}
		stamps[st.Key] = st.Stamp
		for _, th := range threads {
			ids[fmt.Sprint(th.ID, th.IsAgent())] = true
		}
	}
	for _, w := range want {
		if !ids[fmt.Sprint(w.ID, w.Parent != "")] {
			t.Errorf("no transcript has thread %s with parent %q", w.ID, w.Parent)
		}
	}
	CheckTimes(t, p)
	changeAll(t, home)
	for st := range thread.StoredIn(t.Context(), s.Driver.Name, s.provider(t, s.set(home))) {
		if stamps[st.Key] == st.Stamp {
			t.Errorf("the stamp of %s is still %d", st.Key, st.Stamp)
		}
	}
}

func (s Suite) agents(t *testing.T) {
	_, set, want := s.home(t)
	for _, w := range want {
		v, err := set.Open(t.Context(), thread.URI{Provider: s.Driver.Name, Thread: w.ID})
		if err == nil {
			err = v.LoadAgents(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []Agent
		for _, a := range v.Agents {
			if a.State.Evidence == "" {
				t.Errorf("%s: agent %s has a state without evidence: %+v", w.ID, a.ID, a)
			}
			one := Agent{ID: a.ID, Status: a.State.Status, Source: a.State.Source, Inferred: !a.Validated}
			if a.Thread != nil {
				if said, _ := Messages(t, a.Thread); len(said) > 0 {
					_, one.Last, _ = strings.Cut(said[len(said)-1], ": ")
				}
			}
			got = append(got, one)
			sub, err := set.Open(t.Context(), a.URI)
			if err != nil || sub.Agent == nil || sub.Agent.ID != a.ID {
				t.Errorf("%s does not resolve to its agent: %v", a.URI, err)
			}
		}
		if !slices.Equal(got, w.Agents) {
			t.Errorf("%s: got agents %+v, want %+v", w.ID, got, w.Agents)
		}
	}
}

func (s Suite) missing(t *testing.T) {
	_, set, want := s.home(t)
	unknown := mutate(want[0].ID)
	for name, in := range map[string]*thread.Set{"a home": set, "an empty home": s.set(t.TempDir()),
		"no home": s.set(filepath.Join(t.TempDir(), "nowhere"))} {
		p := s.provider(t, in)
		if _, err := p.Thread(t.Context(), unknown); !errors.Is(err, handoff.NotFound) {
			t.Errorf("in %s: thread %s: got %v, want not found", name, unknown, err)
		}
		if in == set {
			continue
		}
		for th, err := range p.Threads(t.Context()) {
			t.Errorf("in %s: got %v, %v, want no threads", name, th, err)
		}
	}
	uri := thread.URI{Provider: s.Driver.Name, Thread: want[0].ID, Agent: "no-such-agent"}
	v, err := set.Open(t.Context(), uri)
	if err != nil || v.Agent == nil || v.Agent.State.Status != thread.NotFound || v.Agent.Validated {
		t.Errorf("%s: got %+v, %v, want an agent that was not found", uri, v, err)
	}
}

// escape asks for IDs that would lead outside the directories of the tool if they were
// used as paths.
func (s Suite) escape(t *testing.T) {
	home, set, want := s.home(t)
	p := s.provider(t, set)
	for _, w := range want {
		th, err := p.Thread(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		stem := strings.TrimSuffix(th.Source, filepath.Ext(th.Source))
		for _, id := range []string{th.Source, stem, "../" + w.ID, "./" + w.ID, w.ID + "/../" + w.ID,
			filepath.Dir(th.Source) + "/../" + w.ID, ".", "..", "", "*", home} {
			if got, err := p.Thread(t.Context(), id); !errors.Is(err, handoff.NotFound) {
				t.Errorf("thread %q: got %v, %v, want not found", id, got, err)
			}
		}
	}
}

// mutate returns an unused ID of the same form.
func mutate(id string) string {
	last := id[len(id)-1]
	if last == '0' {
		return id[:len(id)-1] + "1"
	}
	return id[:len(id)-1] + "0"
}

func (s Suite) stop(t *testing.T) {
	_, set, want := s.home(t)
	th, err := s.provider(t, set).Thread(t.Context(), want[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	n := 0
	err = th.Read(t.Context(), thread.Texts, func(thread.Message) error { n++; return enough })
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("got %v after %d messages, want %v after 1", err, n, enough)
	}
}

// concurrent uses a set from several goroutines at once, for the race detector.
func (s Suite) concurrent(t *testing.T) {
	_, set, want := s.home(t)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for _, w := range want {
				u := thread.URI{Provider: s.Driver.Name, Thread: w.ID}
				if err := page.Write(t.Context(), io.Discard, set, u, page.Options{Usage: true}); err != nil {
					t.Errorf("%s: %v", u, err)
				}
			}
		})
	}
	wait.Wait()
}

// write writes every page of every thread and checks that the frontmatter is YAML
// with the required keys.
func (s Suite) write(t *testing.T) {
	_, set, want := s.home(t)
	for _, w := range want {
		uris := []thread.URI{{Provider: s.Driver.Name, Thread: w.ID}}
		for _, a := range w.Agents {
			uris = append(uris, uris[0].Child(a.ID))
		}
		for _, u := range uris {
			updated := ""
			for _, o := range []page.Options{{}, {Head: true}, {List: true},
				{Full: true, Tools: true, Usage: true, Now: time.Unix(2e9, 0)}} {
				if o.List && u.Agent != "" {
					continue
				}
				var b bytes.Buffer
				if err := page.Write(t.Context(), &b, set, u, o); err != nil {
					t.Errorf("%s %+v: %v", u, o, err)
				}
				front := Frontmatter(t, b.String())
				if now := fmt.Sprint(front["updated_at"]); updated != "" && now != updated && !o.List {
					t.Errorf("%s %+v: got updated_at %s, without options %s", u, o, now, updated)
				} else {
					updated = now
				}
				if front["uri"] != u.String() || front["provider"] != s.Driver.Name || front["thread_source"] == nil {
					t.Errorf("%s %+v: got frontmatter %v", u, o, front)
				}
			}
		}
	}
}

// Frontmatter returns the YAML at the start of a page.
func Frontmatter(t testing.TB, page string) map[string]any {
	t.Helper()
	rest, ok := strings.CutPrefix(page, "---\n")
	front, _, closed := strings.Cut(rest, "\n---\n")
	var m map[string]any
	if err := yaml.Unmarshal([]byte(front), &m); !ok || !closed || err != nil {
		t.Fatalf("no frontmatter: %v\n%s", err, page[:min(len(page), 4000)])
	}
	return m
}

// CheckUnchanged fails the test if files in dir have other names, sizes, modes or
// modification times at its end.
func CheckUnchanged(t testing.TB, dir string) {
	t.Helper()
	before := snapshot(t, dir)
	t.Cleanup(func() {
		after := snapshot(t, dir)
		for _, name := range slices.Sorted(maps.Keys(before)) {
			if after[name] != before[name] {
				t.Errorf("%s: got %q at the end, was %q", name, after[name], before[name])
			}
			delete(after, name)
		}
		for name := range after {
			t.Errorf("%s was created", name)
		}
	})
}

func snapshot(t testing.TB, dir string) map[string]string {
	t.Helper()
	list := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		list[path] = fmt.Sprintf("%v %d %v", info.Mode(), info.Size(), info.ModTime())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
