package engine_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// A decode decodes records of the types that its cases have.
type decode struct {
	*engine.Scan
	state state
}

type state struct{ Answers int }

var counts = engine.Counts{Input: "in", Output: "out", CacheRead: "cached", Optional: []string{"cached"},
	Other: []string{"total"}}

func (d *decode) Record(n int, v jsonl.Value) {
	m := &d.Members
	at := m.Get("at").Timestamp()
	d.At(at)
	d.Copied(m.Get("copied").True())
	switch kind := m.Get("type").Text(); kind {
	case "prompt":
		d.Prompt(n, thread.Message{Text: m.Get("text").Text(), Time: at})
	case "answer", "grows", "total", "latest":
		d.Timeline.Add(thread.Message{Role: thread.Assistant, Text: m.Get("text").Text(), Time: at})
		d.State(thread.Completed, at, "an answer, line %d", n)
		d.state.Answers++
		if t, ok := d.Tokens(m.Get("usage"), &counts); ok {
			policy := map[string]engine.Policy{"grows": engine.Grows, "total": engine.Total, "latest": engine.Latest}[kind]
			d.Use(engine.Use{Key: m.Get("key").Text(), Policy: policy, Model: "m", Tokens: t})
		}
	case "call":
		d.Call(n, thread.Call{ID: m.Get("id").Text(), Name: "script", Time: at}, "")
	case "inner":
		d.Nested(m.Get("id").Text(), thread.Call{ID: "inner", Name: "bash", Time: at})
	case "result":
		d.Result(n, m.Get("id").Text(), at, func(c *thread.Call) { c.Output = m.Get("text").Text() })
	case "noise":
	default:
		d.Unknown(kind, v)
	}
}

func (d *decode) Saved() any { return &d.state }

func (d *decode) Finish() {}

func program() engine.Program {
	return engine.Program{Name: "any", Env: "HOME", Plain: true, Alone: true,
		Stores: []engine.Store{{Pattern: "projects/*/{id}.jsonl"},
			{Pattern: "projects/*/{parent}/**/agent-{id}.jsonl", Proof: "its directory"}},
		Open: func(_ *thread.Walk, f *engine.Found, t *thread.Thread) {
			t.Reader = &engine.Reader{Source: engine.Lines(f.Path), Resumed: "any",
				New: func(s *engine.Scan) engine.Decoder { return &decode{Scan: s} }}
		}}
}

// home writes transcripts below a root, by path.
func home(t *testing.T, files map[string]string) *engine.Provider {
	root := t.TempDir()
	for name, body := range files {
		threadtest.WriteFile(t, body, filepath.Join(root, filepath.FromSlash(name)))
	}
	return program().Provider([]string{root})
}

func lines(records ...string) string { return strings.Join(records, "\n") + "\n" }

func TestStores(t *testing.T) {
	body := lines(`{"type":"prompt","text":"go","at":1700000000000}`)
	p := home(t, map[string]string{
		"projects/a/one.jsonl": body, "projects/b/two.jsonl": body, "projects/a/other.txt": body,
		"projects/a/one/agent-x.jsonl": body, "projects/a/one/deep/er/agent-y.jsonl": body, "elsewhere/three.jsonl": body,
	})
	var ids []string
	for th, err := range p.Threads(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, th.ID)
	}
	slices.Sort(ids)
	if want := []string{"one", "two"}; !slices.Equal(ids, want) {
		t.Errorf("got threads %q, want %q", ids, want)
	}
	main, err := p.Thread(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	agents, err := p.Agents(t.Context(), main)
	if err != nil || len(agents) != 2 || agents[0].ID != "x" || agents[1].ID != "y" || !agents[0].Validated {
		t.Errorf("got agents %+v, %v, want x and y, validated", agents, err)
	}
	for _, id := range []string{"x", "y"} {
		if th, err := p.Thread(t.Context(), id); err != nil || th.Parent != "one" {
			t.Errorf("thread %s: got %+v, %v, want one of thread one", id, th, err)
		}
	}
	for _, id := range []string{"three", "../b/two", "*", "", "a/one"} {
		if th, err := p.Thread(t.Context(), id); err == nil {
			t.Errorf("thread %q: got %+v, want none", id, th)
		}
	}
}

// TestUsage has a transcript for each rule of counting usage.
func TestUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		records  []string
		want     thread.Tokens
		complete thread.Completeness
		reason   string
	}{
		"requests without a key": {[]string{`{"type":"answer","usage":{"in":1,"out":2}}`,
			`{"type":"answer","usage":{"in":1,"out":2}}`}, thread.Tokens{Input: 2, Output: 4, Calls: 2}, thread.Exact, ""},
		"the first record of a key counts": {[]string{`{"type":"answer","key":"a","usage":{"in":1,"out":2}}`,
			`{"type":"answer","key":"a","usage":{"in":9,"out":9}}`}, thread.Tokens{Input: 1, Output: 2, Calls: 1}, thread.Exact, ""},
		"the one with the most output counts": {[]string{`{"type":"grows","key":"a","usage":{"in":1,"out":2}}`,
			`{"type":"grows","key":"a","usage":{"in":1,"out":7}}`, `{"type":"grows","key":"a","usage":{"in":1,"out":3}}`},
			thread.Tokens{Input: 1, Output: 7, Calls: 1}, thread.Exact, ""},
		"a total counts once": {[]string{`{"type":"total","key":"a","usage":{"in":5,"out":5}}`,
			`{"type":"total","key":"a","usage":{"in":5,"out":8}}`, `{"type":"total","key":"a","usage":{"in":2,"out":1}}`},
			thread.Tokens{Input: 7, Output: 9, Calls: 2}, thread.Exact, ""},
		"the last version counts": {[]string{`{"type":"latest","key":"a","usage":{"in":5,"out":5}}`,
			`{"type":"latest","key":"a","usage":{"in":3,"out":1}}`}, thread.Tokens{Input: 3, Output: 1, Calls: 1}, thread.Exact, ""},
		"copies do not count": {[]string{`{"type":"answer","copied":true,"usage":{"in":5,"out":5}}`,
			`{"type":"answer","usage":{"in":3,"out":1}}`}, thread.Tokens{Input: 3, Output: 1, Calls: 1}, thread.Exact, ""},
		"an unknown type with usage": {[]string{`{"type":"answer","usage":{"in":3,"out":1}}`,
			`{"type":"renamed","message":{"usage":{"in":3,"out":1}}}`}, thread.Tokens{Input: 3, Output: 1, Calls: 1},
			thread.LowerBound, "1 records of types that this version does not know (renamed)"},
		"an unknown type without usage": {[]string{`{"type":"answer","usage":{"in":3,"out":1}}`,
			`{"type":"renamed","maxTokens":7,"usage":{"in":0}}`}, thread.Tokens{Input: 3, Output: 1, Calls: 1}, thread.Exact, ""},
		"an unknown member of a usage": {[]string{`{"type":"answer","usage":{"in":3,"out":1,"total":4,"extra":2,"none":0}}`},
			thread.Tokens{Input: 3, Output: 1, Calls: 1}, thread.LowerBound,
			"1 records of usage have numbers that this version does not know (extra)"},
		"a missing member of a usage": {[]string{`{"type":"answer","usage":{"in":3}}`},
			thread.Tokens{Input: 3, Calls: 1}, thread.LowerBound,
			"1 records of usage lack a member that this version needs (out)"},
		"a count that is not a number": {[]string{`{"type":"answer","usage":{"in":"3","out":1,"cached":null}}`},
			thread.Tokens{Output: 1, Calls: 1}, thread.LowerBound,
			"1 records of usage lack a member that this version needs (in)"},
		"an optional count that is not a number": {[]string{`{"type":"answer","usage":{"in":3,"out":1,"cached":[1]}}`},
			thread.Tokens{Input: 3, Output: 1, Calls: 1}, thread.LowerBound,
			"1 records of usage lack a member that this version needs (cached)"},
		"a negative count": {[]string{`{"type":"answer","usage":{"in":-3,"out":1}}`}, thread.Tokens{Output: 1, Calls: 1},
			thread.LowerBound, "1 records of usage have negative"},
	} {
		t.Run(name, func(t *testing.T) {
			p := home(t, map[string]string{"projects/a/one.jsonl": lines(tt.records...)})
			th := threadtest.Load(t, p, "one")
			threadtest.CheckUsage(t, th, tt.want, tt.complete, tt.reason)
		})
	}
}

func TestNestedCalls(t *testing.T) {
	p := home(t, map[string]string{"projects/a/one.jsonl": lines(
		`{"type":"prompt","text":"go","at":1700000000000}`, `{"type":"answer","text":"I run it."}`,
		`{"type":"call","id":"a"}`, `{"type":"call","id":"b"}`, `{"type":"inner","id":"a"}`,
		`{"type":"result","id":"a","text":"done"}`, `{"type":"inner","id":"gone"}`)})
	th := threadtest.Load(t, p, "one")
	want := []string{"script: done", "bash: ", "script: ", "bash: "}
	if _, calls := threadtest.Messages(t, th); !slices.Equal(calls, want) {
		t.Errorf("got calls %q, want that of the script before the one in it", calls)
	}
	if th.ToolCalls != 4 {
		t.Errorf("got %d calls, want 4", th.ToolCalls)
	}
}

func TestResume(t *testing.T) {
	p := home(t, map[string]string{"projects/a/one.jsonl": lines(
		`{"type":"prompt","text":"go","at":1700000000000}`, `{"type":"answer","text":"a","usage":{"in":3,"out":1}}`,
		`{"type":"renamed","usage":{"in":3}}`, `{"type":"total","text":"b","key":"k","usage":{"in":5,"out":5}}`,
		`{"type":"call","id":"a"}`, `{"type":"result","id":"a","text":"done"}`,
		`{"type":"total","text":"c","key":"k","usage":{"in":6,"out":9}}`, `{"type":"prompt","text":"more"}`)})
	if n := threadtest.CheckResume(t, p, "one"); n < 5 {
		t.Errorf("got %d marks, want at least 5", n)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"type":"answer","usage":{"in":1,"out":2}}` + "\n" + `{"type":"call","id":"a"}`))
	f.Add([]byte(`{"type":"inner","id":{}}{"type":"x","usage":[{"tokens":1}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		path := filepath.Join(t.TempDir(), "projects", "a", "one.jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, body, 0o600); err != nil {
			t.Fatal(err)
		}
		threadtest.CheckThread(t, program().Provider([]string{filepath.Dir(filepath.Dir(filepath.Dir(path)))}), "one")
	})
}

// TestContains compares the search for a text from its rarest byte with a plain one.
func TestContains(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	texts := []string{`"isSidechain":true`, `"agent_progress"`, "a_", "_", "S", "plain"}
	for _, line := range []string{"", `{"isSidechain":true}`, `{"xisSidechain":true}`, `Sidechain":true`,
		`{"hook_progress":1,"agent_progress"`, `"hook_progress""agent_progres"`, "__a_", "a plain SS"} {
		if err := os.WriteFile(path, []byte("first\n"+line), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if got, want := engine.Contains(path, text), strings.Contains(line, text); got != want {
				t.Errorf("%q in %q: got %v, want %v", text, line, got, want)
			}
		}
	}
}
