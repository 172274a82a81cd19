package handoff_test

import (
	"github.com/agent-handoff/handoff/engines/memory"

	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
)

// TestDraftPaths checks which paths and bodies a draft can have.
func TestDraftPaths(t *testing.T) {
	dir, hub := newWorkspace(t)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		draft handoff.Draft
		path  string // as recorded, or
		text  string // of an error of kind Invalid
	}{
		{handoff.Draft{Path: "a"}, "a", ""},
		{handoff.Draft{Path: "./a"}, "a", ""},
		{handoff.Draft{Path: "b/../a"}, "a", ""},
		{handoff.Draft{Path: filepath.Join(dir, "a")}, "a", ""},
		{handoff.Draft{Path: "/etc/passwd"}, "", "path leaves the workspace"},
		{handoff.Draft{Path: "../a"}, "", "path leaves the workspace"},
		{handoff.Draft{Path: dir}, "", "is the workspace itself"},
		{handoff.Draft{}, "", "has neither a path nor a body"},
		{handoff.Draft{Path: "a", Body: strings.NewReader("b")}, "", "has both a path and a body"},
		{handoff.Draft{Namespace: "r", Name: "n", Body: strings.NewReader("b")}, "", "requires a namespace and the path"},
		{handoff.Draft{Path: "n", Name: "n", Body: strings.NewReader("b")}, "", "requires a namespace and the path"},
		{handoff.Draft{Namespace: "r", Name: "n", Path: "r/n", Body: strings.NewReader("b")}, "r/n", ""},
	} {
		tt.draft.Channel = "x"
		log := memory.NewLog()
		p, err := hub(log).Publish(t.Context(), tt.draft)
		switch {
		case tt.text != "" && (!errors.Is(err, handoff.Invalid) || !strings.Contains(err.Error(), tt.text)):
			t.Errorf("draft %d: %v, want that it %s", i, err, tt.text)
		case tt.text == "" && (err != nil || p.Path != tt.path):
			t.Errorf("draft %d: path %q, %v, want %q", i, p.Path, err, tt.path)
		}
		if n := len(logtest.Collect(t, log, 0)); (n == 1) != (tt.text == "") {
			t.Errorf("draft %d: %d records", i, n)
		}
	}
}

// TestLimits checks that what every reader of a record shows is bounded, and that
// the error has the number that was passed.
func TestLimits(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	many := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprint("t", i))
		}
		return list
	}
	ids := map[string]string{}
	for _, name := range many(101) {
		ids[name] = "x"
	}
	for name, d := range map[string]handoff.Draft{
		"has 100000 characters, more than 120":      {Title: long},
		"has 100000 characters, more than 500":      {Summary: long},
		"has 101 tags, more than 100":               {Tags: many(101)},
		"has 1001 artifacts that it replaces":       {Replaces: many(1001)},
		"has 1001 artifacts that it was made from":  {Parents: many(1001)},
		"has 100008 bytes of JSON, more than 16384": {Metadata: map[string]any{"k": long}},
	} {
		h, _ := newHub(t, nil)
		d.Channel, d.Path = "design", "a.md"
		if p, err := h.Publish(t.Context(), d); !errors.Is(err, handoff.Invalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, p.ID, err)
		}
	}
	for name, p := range map[string]handoff.Producer{
		"agent: has 100000 characters":     {Agent: long},
		"session: has 100000 characters":   {Session: long},
		"model: has 100000 characters":     {Model: handoff.Model{ID: long}},
		"turn: has 100000 characters":      {IDs: map[string]string{"turn": long}},
		"name of an ID: has 100000":        {IDs: map[string]string{long: "7"}},
		"has 101 IDs, more than 100":       {IDs: ids},
		"commit: has 100000 characters":    {Observed: []handoff.Observation{{IDs: map[string]string{"commit": long}}}},
		"tool-call: has 100000 characters": {ToolCallID: long},
	} {
		h, _ := newHub(t, nil)
		if _, _, err := h.As(p).Record(t.Context(), &handoff.WorkStarted{WorkID: "w"}); !errors.Is(err, handoff.Invalid) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClock checks that no ID is made from a time for which it has no bits: it
// would sort after all others.
func TestClock(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, now := range []time.Time{{}, time.UnixMilli(-1), time.UnixMilli(1 << 48)} {
		h := handoff.New(memory.NewLog(), logtest.NewReference(), nil,
			handoff.Options{Now: func() time.Time { return now }, Rand: zeroes{}, Files: &content.Files{Root: root}})
		if p, err := h.Publish(t.Context(), handoff.Draft{Path: "a", Channel: "x"}); !errors.Is(err, handoff.Invalid) {
			t.Errorf("at %s: %s, %v, want kind Invalid", now, p.ID, err)
		}
	}
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestQueryRefused checks the queries that nothing can match.
func TestQueryRefused(t *testing.T) {
	dir, hub := newWorkspace(t)
	if err := os.WriteFile(filepath.Join(dir, "a.md"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	h := hub(memory.NewLog()).As(handoff.Producer{
		IDs: map[string]string{"turn": "7"}, Model: handoff.Model{Provider: "a", ID: "b"}, Source: handoff.FromFlag})
	p, err := h.Publish(t.Context(), handoff.Draft{Path: "a.md", Channel: "design"})
	if err != nil {
		t.Fatal(err)
	}
	for name, q := range map[string]handoff.ArtifactQuery{
		"status":  {Status: "nope"},
		"channel": {Channel: "BAD"},
		"field":   {Producer: map[string]string{"taks": "x"}},
		"kind":    {Kind: strings.Repeat("k", 201)},
	} {
		if _, err := h.Artifacts(t.Context(), q); !errors.Is(err, handoff.Invalid) {
			t.Errorf("%s: %v, want kind Invalid", name, err)
		}
	}
	for _, name := range slices.Concat(handoff.SlotNames(), []string{"turn"}) {
		page, err := h.Artifacts(t.Context(), handoff.ArtifactQuery{Producer: map[string]string{name: p.Producer.Slot(name)}})
		if err != nil || len(page.Artifacts) != 1 {
			t.Errorf("%s=%q: %d artifacts, %v", name, p.Producer.Slot(name), len(page.Artifacts), err)
		}
	}
}
