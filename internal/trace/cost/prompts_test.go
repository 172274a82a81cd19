package cost

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/trace/pasted"
)

// artifactID returns an ID of the length of those of artifacts.
func artifactID(n int) string { return fmt.Sprintf("art_%026d", n) }

// TestComparison checks which prompts have an artifact: those of other threads,
// sent after it was published.
func TestComparison(t *testing.T) {
	const own = "agents://claude/own"
	body := strings.Repeat("the same words on every line\n", 5)
	a := handoff.Artifact{}
	a.ID, a.CreatedAt, a.Producer.Thread = artifactID(1), start, own
	id, later := a.ID, start.Add(time.Minute)
	sent := func(thread string, at time.Time, text string) Prompt {
		return Prompt{thread, thread + "#M1", at, text}
	}
	for _, tt := range []struct {
		name    string
		prompts []Prompt
		refs    int
		pasted  int
		bound   bool
	}{
		{"pasted", []Prompt{sent("b", later, body)}, 0, len(body), false},
		{"named", []Prompt{sent("b", later, "read "+id)}, 1, 0, false},
		{"named and pasted", []Prompt{sent("b", later, id+"\n"+body)}, 1, len(body), false},
		{"named twice in one thread", []Prompt{sent("b", later, id+" "+id), sent("b", later, id)}, 1, 0, false},
		{"in two threads", []Prompt{sent("b", later, id+"\n"+body), sent("c", later, id+"\n"+body)}, 2, 2 * len(body),
			false},
		{"in its own thread", []Prompt{sent(own, later, id+"\n"+body)}, 0, 0, false},
		{"before it was published", []Prompt{sent("b", start.Add(-time.Minute), id+"\n"+body)}, 0, 0, false},
		{"without a time", []Prompt{sent("b", time.Time{}, id+"\n"+body)}, 0, 0, true},
		{"too long", []Prompt{sent("b", later, strings.Repeat("x", pasted.MaxPrompt+1))}, 0, 0, true},
		{"another artifact", []Prompt{sent("b", later, artifactID(7))}, 0, 0, false},
	} {
		c := NewComparison(Sources{Artifacts: []handoff.Artifact{a}}, func(handoff.Artifact) string { return body })
		for _, p := range tt.prompts {
			c.Add(p)
		}
		passed, report := c.Result(true)
		if got := passed[id]; got.Refs != tt.refs || value(got.BytesPasted) != int64(tt.pasted) || got.BytesPasted == nil ||
			got.LowerBound != tt.bound || !got.Inferred {
			t.Errorf("%s: %+v with %d bytes", tt.name, got, value(got.BytesPasted))
		}
		if report.Messages != len(tt.prompts) || len(report.Passages) > 0 != (tt.refs+tt.pasted > 0) {
			t.Errorf("%s: %+v", tt.name, report)
		}
	}
}

// TestComparisonOfSubagent checks that a prompt of a subagent has nothing that the
// subagent published under its own ID.
func TestComparisonOfSubagent(t *testing.T) {
	const uri, self, main = "agents://codex/main/child", "agents://codex/child", "agents://codex/main"
	for _, name := range []string{uri, self} {
		a := handoff.Artifact{}
		a.ID, a.CreatedAt, a.Producer.Thread = artifactID(1), start, name
		c := NewComparison(Sources{Artifacts: []handoff.Artifact{a},
			Threads: []Conversation{{URI: uri, Self: self, Main: main}}}, func(handoff.Artifact) string { return "" })
		c.Add(Prompt{uri, uri + "#M9", start.Add(time.Minute), "read " + a.ID})
		if passed, _ := c.Result(true); passed[a.ID].Refs != 0 {
			t.Errorf("published by %s: got %d refs, want none", name, passed[a.ID].Refs)
		}
	}
}

// TestNamed checks which words of a prompt name an artifact.
func TestNamed(t *testing.T) {
	var list []handoff.Artifact
	for i, channel := range []string{"design", "design", "api-design"} {
		a := made(fmt.Sprintf("art_01K5J1MGM0ZSTAVY9VC9V7%04d", i), channel)
		a.CreatedAt = start.Add(time.Duration(i) * time.Hour)
		list = append(list, a)
	}
	first, second, other := list[0].ID, list[1].ID, list[2].ID
	for _, tt := range []struct {
		text string
		at   time.Duration
		want []string
	}{
		{first, time.Minute, []string{first}},
		{"read (" + first + "), then " + second + ".", 2 * time.Hour, []string{first, second}},
		{"handoff://artifacts/" + first + "/body", time.Minute, []string{first}},
		{"`" + first + "@v1`", time.Minute, []string{first}},
		{second, time.Minute, nil}, // it does not exist yet
		{"V70000: and v70001", 2 * time.Hour, []string{first, second}},
		{"70000", time.Minute, nil}, // too short
		{"x" + first, time.Minute, nil},
		{first + "0", time.Minute, nil},
		{first[:20], time.Minute, nil},
		{"run: handoff read design:latest.", time.Minute, []string{first}},
		{"run: handoff read design:latest.", 3 * time.Hour, []string{second}},
		{"api-design:latest", 3 * time.Hour, []string{other}},
		{"api-design:latest", time.Hour, nil},
		{"latest :latest patch:latest design:final design", 3 * time.Hour, nil},
	} {
		c := NewComparison(Sources{Artifacts: list}, func(handoff.Artifact) string { return "" })
		c.Add(Prompt{"b", "b#M1", start.Add(tt.at), tt.text})
		passed, _ := c.Result(true)
		for _, a := range list {
			if got, want := passed[a.ID].Refs == 1, slices.Contains(tt.want, a.ID); got != want {
				t.Errorf("%q names %s: got %v, want %v", tt.text, a.ID, got, want)
			}
		}
	}
}

// TestNotCompared checks that what could not be compared is absent, and makes a sum with
// it a lower bound.
func TestNotCompared(t *testing.T) {
	w, text := attempt("w1", made(artifactID(1), "design"))
	_, dir := attempt("w1", made(artifactID(2), "docs"))
	s := Sources{Work: []handoff.Work{w}, Artifacts: []handoff.Artifact{text, dir}}
	c := NewComparison(s, func(a handoff.Artifact) string {
		if a.ID == text.ID {
			return "text"
		}
		return ""
	})
	s.Passed, _ = c.Result(true)
	r := Summarize(ByChannel, Leaves(s))
	for _, row := range r.Rows {
		p := row.Prompts
		if p == nil || (p.BytesPasted != nil) != (row.Key == "design") || p.LowerBound != (row.Key == "docs") {
			t.Errorf("channel %s: %+v", row.Key, p)
		}
	}
	if p := r.Total.Prompts; p == nil || p.BytesPasted == nil || *p.BytesPasted != 0 || !p.LowerBound {
		t.Errorf("total: %+v", p)
	}
	if r.Unattributed.Prompts != nil {
		t.Errorf("unattributed: %+v", r.Unattributed.Prompts)
	}
	if s.Passed, _ = c.Result(false); !s.Passed[text.ID].LowerBound {
		t.Error("without some prompts, the result is not a lower bound")
	}
}

// TestPassages checks that the passages are those with the most text, whatever the
// order of the prompts.
func TestPassages(t *testing.T) {
	a := handoff.Artifact{}
	a.ID, a.CreatedAt = artifactID(1), start
	lines := make([]string, 10)
	for i := range lines {
		lines[i] = fmt.Sprintf("%d %s\n", i, strings.Repeat("word ", 10))
	}
	c := NewComparison(Sources{Artifacts: []handoff.Artifact{a}}, func(handoff.Artifact) string {
		return strings.Join(lines, "")
	})
	for i := range 3 * maxPassages {
		uri := fmt.Sprintf("b%d", i)
		c.Add(Prompt{Thread: uri, URI: uri, At: start.Add(time.Duration(i + 1)), Text: strings.Join(lines[:3+i%8], "")})
	}
	_, r := c.Result(true)
	if len(r.Passages) != maxPassages || r.Conversations != 3*maxPassages {
		t.Fatalf("%d passages of %d threads", len(r.Passages), r.Conversations)
	}
	for i, p := range r.Passages {
		if n := p.BytesPasted; i > 0 && n > r.Passages[i-1].BytesPasted || n < int64(8*len(lines[0])) {
			t.Fatalf("passage %d has %d bytes", i, n)
		}
	}
}

// TestNewestText checks that of very much text the newest is compared.
func TestNewestText(t *testing.T) {
	for name, text := range map[string]string{
		"long":  strings.Repeat("x", pasted.MaxText/4),
		"lines": strings.Repeat("\n", pasted.MaxLines/4-1),
	} {
		var list []handoff.Artifact
		for i := range 6 {
			list = append(list, made(artifactID(i), "design"))
		}
		passed, report := NewComparison(Sources{Artifacts: list}, func(handoff.Artifact) string { return text }).Result(true)
		for i, a := range list {
			if p := passed[a.ID]; (p.BytesPasted != nil) != (i >= 2) || p.LowerBound != (i < 2) {
				t.Errorf("%s: artifact %d: %+v", name, i, p)
			}
		}
		if report.Artifacts != 4 {
			t.Errorf("%s: %d artifacts were compared, want 4", name, report.Artifacts)
		}
	}
}
