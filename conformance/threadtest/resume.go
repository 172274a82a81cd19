package threadtest

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/thread"
)

// CheckResume reads a thread further from every mark that its Reader offers, at most
// 200 of them. Messages and facts must be those of one that is read completely.
// It returns the number of marks.
func CheckResume(t testing.TB, p thread.Provider, id string) int {
	t.Helper()
	open := func() *thread.Thread {
		th, err := p.Thread(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return th
	}
	var all []thread.Message
	collect := func(m thread.Message) error {
		m.Tools = slices.Clone(m.Tools)
		for i := range m.Tools {
			m.Tools[i].Agent = "" // a Resumer need not find it
		}
		all = append(all, m)
		return nil
	}
	full := open()
	if err := full.Read(t.Context(), thread.Tools, collect); err != nil {
		t.Fatal(err)
	}
	want, facts := slices.Clone(all), full.Facts
	type point struct {
		thread.Mark
		emitted int
	}
	var points []point
	all = nil
	err := open().Resume(t.Context(), thread.Mark{}, func(offset int64, state func() []byte) {
		if b := state(); b != nil {
			points = append(points, point{thread.Mark{Offset: offset, State: b}, len(all)})
		}
	}, collect)
	if errors.Is(err, thread.ErrMark) {
		return 0
	}
	equalJSON(t, id+": messages with marks", err, all, want)
	for i, m := range points {
		if i%(len(points)/200+1) != 0 {
			continue
		}
		all = nil
		th := open()
		err := th.Resume(t.Context(), m.Mark, func(int64, func() []byte) {}, collect)
		equalJSON(t, id+": messages from a mark", err, all, want[m.emitted:])
		equalJSON(t, id+": facts from a mark", err, th.Facts, facts)
		equalJSON(t, id+": requests from a mark", err, th.Requests, facts.Requests)
	}
	return len(points)
}

func (s Suite) resume(t *testing.T) {
	_, set, want := s.home(t)
	p := s.provider(t, set)
	for _, w := range want {
		CheckResume(t, p, w.ID)
	}
}

// CheckAllResume calls CheckResume for every published thread whose file is in dir.
func CheckAllResume(t *testing.T, d thread.Driver, dir string) {
	t.Helper()
	threads, marks := 0, 0
	for _, home := range Homes(t, d.Name, dir) {
		p := Open(t, d, home)
		for th, err := range p.Threads(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			threads++
			marks += CheckResume(t, p, th.ID)
		}
	}
	if marks == 0 {
		t.Error("no marks, so that nothing was compared")
	}
	t.Logf("%d transcripts with %d marks", threads, marks)
}

// equalJSON compares values as JSON.
func equalJSON(t testing.TB, what string, err error, got, want any) {
	t.Helper()
	g, _ := json.Marshal(got)
	w, _ := json.Marshal(want)
	if err != nil || string(g) != string(w) {
		t.Fatalf("%s: got %s (%v)\nwant %s", what, g, err, w)
	}
}
