package places_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/codex"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/places"
	"github.com/agent-handoff/handoff/workspace/work"
)

// opened has two workspaces, one inside the other, and one that can't be opened; a
// removed one, and a thread in each of them and in another directory.
func opened(t *testing.T) (outer, inner, other string, o workspace.Options, set *thread.Set) {
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": dir, "XDG_STATE_HOME": filepath.Join(dir, "state"),
		"HANDOFF_WORKSPACE": "", "CODEX_HOME": filepath.Join(dir, "codex")}
	o = workspace.Options{Getenv: func(name string) string { return env[name] }}
	outer, other = filepath.Join(dir, "outer"), filepath.Join(dir, "other")
	inner = filepath.Join(outer, "inner")
	removed, broken := filepath.Join(dir, "removed"), filepath.Join(dir, "broken")
	for i, place := range []string{outer, inner, removed, broken, other} {
		if err := os.MkdirAll(filepath.Join(place, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		writeThread(t, env["CODEX_HOME"], fmt.Sprintf("019c871c-b1f9-7f60-9c4f-87ed09f1359%d", i), place)
		if place == other {
			continue
		}
		if err := os.Mkdir(filepath.Join(place, ".handoff"), 0o755); err != nil {
			t.Fatal(err)
		}
		w, err := workspace.Open(filepath.Join(place, "sub"), o)
		if err != nil {
			t.Fatal(err)
		}
		w.Note()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.RemoveAll(removed), os.RemoveAll(filepath.Join(broken, ".handoff")),
		os.WriteFile(filepath.Join(broken, ".handoff"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	env["HANDOFF_WORKSPACE"] = inner // names that of the directory only
	return outer, inner, other, o, thread.NewSet([]thread.Driver{codex.Driver()}, o.Getenv, dir)
}

// writeThread writes a transcript of a million tokens.
func writeThread(t *testing.T, home, id, cwd string) {
	t.Helper()
	dir := filepath.Join(home, "sessions", "2026", "09", "20")
	text := strings.NewReplacer("ID", id, "CWD", cwd).Replace(
		`{"timestamp":"2026-09-20T09:00:00Z","type":"session_meta","payload":{"id":"ID","cwd":"CWD","cli_version":"0.150.0"}}
{"timestamp":"2026-09-20T09:00:01Z","type":"turn_context","payload":{"model":"gpt-5","cwd":"CWD"}}
{"timestamp":"2026-09-20T09:00:02Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":1000000},"last_token_usage":{"input_tokens":1000000,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":1000000}}}}
{"timestamp":"2026-09-20T09:00:03Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"t"}}
`)
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "rollout-2026-09-20T09-00-00-"+id+".jsonl"), []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestEach(t *testing.T) {
	outer, inner, other, o, _ := opened(t)
	var got []string
	visit := func(err error) ([]string, error) {
		return places.Each(t.Context(), other, o, func(place string, w *workspace.Workspace) ([]string, error) {
			if w.Root() != place {
				t.Errorf("%s: opened %s", place, w.Root())
			}
			got = append(got, place)
			return []string{"careful"}, err
		})
	}
	warnings, err := visit(errors.New("no disk"))
	if want := []string{outer, inner}; err != nil || !slices.Equal(got, want) {
		t.Errorf("visited %q, %v, want %q", got, err, want)
	}
	// a place that can't be opened, and each warning and error with its place
	text := strings.Join(warnings, "\n")
	for _, want := range []string{outer + ": careful", outer + ": no disk", inner + ": careful", "broken: "} {
		if !strings.Contains(text, want) {
			t.Errorf("the warnings are %q, want %q in them", warnings, want)
		}
	}
	got = nil
	if _, err := visit(handoff.E("x", "", handoff.Invalid, errors.New("wrong"))); !errors.Is(err, handoff.Invalid) ||
		len(got) != 1 {
		t.Errorf("a call that is wrong: visited %q, %v", got, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = places.Each(ctx, other, o, func(string, *workspace.Workspace) ([]string, error) { return nil, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: got %v", err)
	}
}

// TestCost checks that each thread counts once: to the innermost place that it is
// in, or to other directories.
func TestCost(t *testing.T) {
	outer, inner, other, o, set := opened(t)
	r, err := places.Cost(t.Context(), other, o, set, work.CostOptions{By: "model"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, p := range r.Places {
		if n := p.Total.Amount.TotalTokens; n != nil {
			got[p.Dir] = *n
		}
	}
	// those of the removed place and of the one that can't be opened are elsewhere
	want := map[string]int64{outer: 1e6, inner: 1e6, "": 3e6}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if u := r.Total; u.TotalTokens == nil || *u.TotalTokens != 5e6 || u.Completeness != thread.Exact {
		t.Errorf("the total is %+v, want 5000000 tokens, exact", u)
	}
	if _, err := places.Cost(t.Context(), other, o, set, work.CostOptions{By: "x"}); !errors.Is(err,
		handoff.Invalid) {
		t.Errorf("of an unknown group: got %v", err)
	}
}
