package thread_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// single is a provider of at most one thread, which is empty.
type single struct {
	name, id string
	err      error // of Thread
}

func (s *single) Thread(_ context.Context, id string) (*thread.Thread, error) {
	switch {
	case s.err != nil:
		return nil, s.err
	case id != s.id:
		return nil, handoff.E("thread", id, handoff.NotFound, nil)
	}
	return &thread.Thread{Provider: s.name, ID: id}, nil
}

func (s *single) Threads(context.Context) iter.Seq2[*thread.Thread, error] {
	return func(func(*thread.Thread, error) bool) {}
}

func (s *single) Agents(context.Context, *thread.Thread) ([]thread.Agent, error) { return nil, nil }

// open opens a URI in a set of these providers.
func open(t *testing.T, uri string, providers ...*single) (*thread.View, error) {
	t.Helper()
	var drivers []thread.Driver
	for _, p := range providers {
		drivers = append(drivers, thread.Driver{
			Name: p.name, ID: thread.UUIDs,
			Roots: func(func(string) string, string) []string { return nil },
			Open:  func([]string) (thread.Provider, error) { return p, nil },
		})
	}
	u, err := thread.ParseURI(uri)
	if err != nil {
		t.Fatal(err)
	}
	return thread.NewSet(drivers, func(string) string { return "" }, "/home/u").Open(t.Context(), u)
}

func TestBareID(t *testing.T) {
	one, two := &single{name: "one", id: id}, &single{name: "two"}
	if v, err := open(t, id, one, two); err != nil || v.URI.String() != "agents://one/"+id {
		t.Errorf("got %+v, %v", v, err)
	}
	two.err = handoff.E("read", "", handoff.Unavailable, nil)
	if _, err := open(t, id, one, two); err != nil {
		t.Errorf("a provider that can't be read hid another one: %v", err)
	}
	one.id = ""
	if _, err := open(t, id, one, two); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("got %v, want unavailable", err)
	}
	two.err, one.id, two.id = nil, id, id
	for uri, kind := range map[string]handoff.Kind{
		id:                     handoff.Conflict,
		"one":                  handoff.Unsupported,
		"word":                 handoff.Invalid,
		"three/" + id:          handoff.Unsupported,
		"one/" + id[:35] + "0": handoff.NotFound,
		id[:35] + "0":          handoff.NotFound,
	} {
		_, err := open(t, uri, one, two)
		var e *handoff.Error
		if !errors.Is(err, kind) || !errors.As(err, &e) {
			t.Errorf("%s: got %v, want %s", uri, err, kind)
		}
	}
}

// TestResume continues threads of a program that can, but no subagent and no copy.
func TestResume(t *testing.T) {
	none := func(func(string) string, string) []string { return nil }
	set := thread.NewSet([]thread.Driver{{Name: "x", Roots: none, Resume: []string{"x", "resume"}},
		{Name: "y", Roots: none}}, func(string) string { return "" }, "")
	for _, tt := range []struct {
		thread thread.Thread
		want   []string
	}{
		{thread.Thread{Provider: "x", ID: "1"}, []string{"x", "resume", "1"}},
		{thread.Thread{Provider: "x", ID: "2", Parent: "1"}, nil},
		{thread.Thread{Provider: "x", ID: "3", KeptAt: time.Unix(1, 0)}, nil},
		{thread.Thread{Provider: "y", ID: "4"}, nil},
		{thread.Thread{Provider: "z", ID: "5"}, nil},
	} {
		if got := set.Resume(&tt.thread); !slices.Equal(got, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.thread, got, tt.want)
		}
	}
}
