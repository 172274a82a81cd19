package provenance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/transcript/threadindex"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"github.com/agent-handoff/handoff/transcript"
)

// transcripts are the calls of threads, by their URIs. Call n is in message n.
type transcripts map[string][]thread.Call

func (l transcripts) Reports(context.Context, []string, []string) (list []threadindex.Report, err error) {
	for _, of := range slices.Sorted(maps.Keys(l)) {
		for i, c := range l[of] {
			for _, r := range threadindex.ReportsOf(c) {
				r.URI, _ = thread.ParseURI(fmt.Sprint(of, "#M", i+1))
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// A lookup answers what transcripts do not.
type lookup struct {
	threadindex.Lookup
	transcripts
}

func (l lookup) Item(ctx context.Context, uri thread.URI) (transcript.Item, error) {
	return l.transcripts.Item(ctx, uri)
}

func (l lookup) Reports(ctx context.Context, artifacts, calls []string) ([]threadindex.Report, error) {
	return l.transcripts.Reports(ctx, artifacts, calls)
}

// Item finds a subagent by its own URI, too, as those of Codex are named.
func (l transcripts) Item(_ context.Context, uri thread.URI) (i transcript.Item, err error) {
	for name := range l {
		known, _ := thread.ParseURI(name)
		if known == threadOf(uri) || known.Agent == uri.Thread && uri.Agent == "" {
			i.URI, i.Thread = known, &thread.Thread{Provider: known.Provider, ID: known.Thread}
			if known.Agent != "" {
				i.Parent, i.ID = known.Thread, known.Agent
			}
			return i, nil
		}
	}
	return i, handoff.E("find", uri.String(), handoff.NotFound, nil)
}

// TestPublisher checks which call is credited with an artifact that is created 10 s
// after a time.
func TestPublisher(t *testing.T) {
	const id = "art_01M7Y9N347XVYXVC41JFRGRE3M"
	start := time.Unix(1000, 0)
	call := func(second int, command string) thread.Call {
		return thread.Call{Name: "Bash", Input: fmt.Sprintf(`{"command":%q}`, command), Output: id + "\n",
			Time: start.Add(time.Duration(second) * time.Second)}
	}
	tool := func(second int, name, callID string) thread.Call {
		c := call(second, "")
		c.Name, c.ID, c.Input = name, callID, `{}`
		return c
	}
	agent := tool(1, "Agent", "")
	agent.Agent = "child"
	silent := call(9, "handoff publish a > id")
	silent.ID, silent.Output = "call_1", ""
	const a, b, child = "agents://claude/a", "agents://claude/b", "agents://claude/b/child"
	const parent, codex = "agents://codex/p", "agents://codex/p/c"
	const wait, publish = "handoff wait --channel design", "handoff publish a.md"
	for name, tt := range map[string]struct {
		threads        transcripts
		recorded, call string // in the record: the thread, and the ID of the call
		want           string
	}{
		"a waiter is not the publisher": {transcripts{a: {call(1, wait)}, b: {call(9, publish)}}, b, "", b + "#M1"},
		"a person published": {
			transcripts{a: {call(1, wait), tool(2, "mcp__handoff__artifact_wait", "")}}, "", "", ""},
		"the thread is not recorded":    {transcripts{a: {call(1, wait)}, b: {call(9, publish)}}, "", "", b + "#M1"},
		"it waited and published, too":  {transcripts{a: {call(1, wait+" && "+publish)}}, "", "", ""},
		"the record's thread did both":  {transcripts{b: {call(1, publish+" && "+wait)}}, b, "", b + "#M1"},
		"the recorded thread is absent": {transcripts{a: {call(9, publish)}}, b, "", b},
		"only its script published": {
			transcripts{b: {call(1, wait), call(8, "make"), call(11, publish)}}, b, "", b + "#M2"},
		"a script of another thread": {transcripts{a: {call(8, "make")}}, "", "", ""},
		"a subagent of the recorded thread": {
			transcripts{b: {agent}, child: {call(9, publish)}}, b, "", child + "#M1"},
		"a subagent is recorded": {
			transcripts{b: {agent, call(2, publish)}, child: {call(9, publish)}}, child, "", child + "#M1"},
		"a subagent named without parent": {
			transcripts{parent: {call(1, publish)}, codex: {call(9, publish)}}, "agents://codex/c", "", codex + "#M1"},
		"the record has the ID of the call": {
			transcripts{b: {call(1, publish), tool(2, "exec", "call_1")}}, b, "call_1", b + "#M2"},
		"the ID of the call alone": {
			transcripts{a: {call(9, publish)}, b: {tool(9, "exec", "call_1")}}, "", "call_1", b + "#M1"},
		"a call that prints nothing":       {transcripts{b: {silent}}, b, "call_1", b + "#M1"},
		"a later call":                     {transcripts{a: {call(12, publish)}}, "", "", ""},
		"a tool that reads a file":         {transcripts{a: {tool(9, "Read", "")}}, "", "", ""},
		"a program that the agent started": {transcripts{a: {call(1, "codex exec '"+publish+"'")}}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTracer(Sources{}, lookup{transcripts: tt.threads})
			artifact := handoff.Artifact{}
			artifact.ID, artifact.CreatedAt = id, start.Add(10*time.Second)
			artifact.Producer.Thread, artifact.Producer.ToolCallID = tt.recorded, tt.call
			r.publisher(t.Context(), artifact)
			got := ""
			for _, h := range r.trace.Hops {
				if h.Kind == trace.HopPublished {
					got += h.Ref
				}
			}
			if got != tt.want || len(r.trace.Warnings) > 0 {
				t.Errorf("got %q with warnings %q, want %q", got, strings.Join(r.trace.Warnings, "\n"), tt.want)
			}
		})
	}
}
