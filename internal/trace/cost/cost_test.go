package cost

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 9, 20, 9, 0, 0, 0, time.UTC)

func n(v int64) *int64 { return &v }

func reported(input, output int64) *handoff.Usage {
	return &handoff.Usage{Input: n(input), Output: n(output)}
}

var gpt5 = handoff.Model{Provider: "openai", ID: "gpt-5"}

// TestPromptAndTask is the sequence of a prompt that starts a task: the task
// publishes, ends, and the prompt ends.
func TestPromptAndTask(t *testing.T) {
	prompt := handoff.Work{Harness: "flue", ID: "prompt-1", Kind: "prompt", Model: gpt5, StartedAt: start,
		Usage: reported(1000, 100)}
	task := handoff.Work{Harness: "flue", ID: "task-1", Parent: "prompt-1", Kind: "task", Model: gpt5,
		StartedAt: start.Add(time.Minute), Usage: reported(2000, 200)}
	own := func(w handoff.Work) trace.Usage { return OfWork(w, pricer()) }
	roots := Rollup([]handoff.Work{task, prompt}, own)
	if len(roots) != 1 || roots[0].Work.ID != "prompt-1" || len(roots[0].Children) != 1 {
		t.Fatalf("roots = %+v, want the prompt with the task", roots)
	}
	if got := *roots[0].Total.TotalTokens; got != 3300 {
		t.Errorf("the prompt has %d tokens in all, want its own 1,100 and the task's 2,200", got)
	}
	if got := *roots[0].Own.TotalTokens; got != 1100 {
		t.Errorf("the prompt has %d tokens of its own, want 1,100", got)
	}
	if got, want := *roots[0].Total.Cost, (3000*1.25+300*10)/1e6; math.Abs(got-want) > 1e-12 {
		t.Errorf("the prompt costs %v, want %v", got, want)
	}
}

// TestRollupConserves checks for any forest, also with cycles and repetitions, that
// every unit is counted once and that the order does not matter.
func TestRollupConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var work []handoff.Work
		for i := range rapid.IntRange(0, 12).Draw(t, "units") {
			parent := ""
			if p := rapid.IntRange(-1, 13).Draw(t, "parent"); p >= 0 {
				parent = fmt.Sprint(p)
			}
			w := handoff.Work{Harness: "h", ID: fmt.Sprint(i), Parent: parent,
				StartedAt: start.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "start")) * time.Second)}
			if rapid.Bool().Draw(t, "reported") {
				w.Usage = reported(int64(i+1), 1)
			}
			work = append(work, w)
		}
		own := func(w handoff.Work) trace.Usage { return OfWork(w, nil) }
		var want int64
		for _, w := range work {
			if w.Usage != nil {
				want += *w.Usage.Input + 1
			}
		}
		roots := Rollup(work, own)
		var total trace.Usage
		for _, r := range roots {
			Add(&total, r.Total)
		}
		if got := value(total.TotalTokens); got != want {
			t.Fatalf("%d tokens, want %d", got, want)
		}
		shuffled := append(slices.Clone(work), work...)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := Rollup(shuffled, own); !reflect.DeepEqual(again, roots) {
			t.Fatal("the order or a repetition changes the result")
		}
	})
}

func requests(model string, input, output int64) []thread.Request {
	return []thread.Request{
		{At: start, ModelUsage: thread.ModelUsage{
			Provider: "openai", Model: model, Tokens: thread.Tokens{Input: input, Output: output, Calls: 1}}}}
}

func artifact(id, channel, session, uri string, tags ...string) handoff.Artifact {
	a := handoff.Artifact{Status: handoff.Active}
	a.ID, a.CreatedAt = id, start
	a.Channel, a.Tags = channel, tags
	a.Producer = handoff.Producer{Harness: "codex", Session: session, Thread: uri, Agent: "builder"}
	return a
}

// TestSummarizeConserves checks for every grouping that the rows add up to the
// total, which is what the threads and the harnesses say.
func TestSummarizeConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Sources{Prices: pricer()}
		var want int64
		for i := range rapid.IntRange(0, 5).Draw(t, "threads") {
			uri := fmt.Sprint("agents://codex/", i)
			tokens := int64(rapid.IntRange(0, 100).Draw(t, "tokens"))
			model := rapid.SampledFrom([]string{"gpt-5", "nobodys", ""}).Draw(t, "model")
			s.Threads = append(s.Threads, Conversation{URI: uri, Requests: requests(model, tokens, 1),
				Completeness: thread.Exact, Last: start})
			harness := rapid.Bool().Draw(t, "reported")
			if harness {
				s.Work = append(s.Work, handoff.Work{Harness: "codex", ID: fmt.Sprint("w", i), Thread: uri, Model: gpt5,
					Usage: reported(tokens+7, 2), StartedAt: start})
				want += tokens + 9
			} else {
				want += tokens + 1
			}
			for j := range rapid.IntRange(0, 4).Draw(t, "artifacts") {
				tags := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3).Draw(t, "tags")
				a := artifact(fmt.Sprintf("art_%d_%d", i, j), rapid.SampledFrom([]string{"design", "patch"}).Draw(t, "channel"),
					"s1", uri, tags...)
				s.Artifacts = append(s.Artifacts, a)
			}
		}
		leaves := Leaves(s)
		for _, by := range Groups {
			r := Summarize(by, leaves)
			var sum trace.Usage
			for _, row := range r.Rows {
				Add(&sum, row.Amount)
			}
			Add(&sum, r.Unattributed.Amount)
			if value(r.Total.Amount.TotalTokens) != want || value(sum.TotalTokens) != want {
				t.Fatalf("by %s: the rows have %d tokens, the total %d, want %d", by, value(sum.TotalTokens),
					value(r.Total.Amount.TotalTokens), want)
			}
			if math.Abs(value(sum.Cost)-value(r.Total.Amount.Cost)) > 1e-9 {
				t.Fatalf("by %s: the rows cost %v, the total %v", by, value(sum.Cost), value(r.Total.Amount.Cost))
			}
		}
	})
}

func TestSummarize(t *testing.T) {
	main, child := "agents://codex/main", "agents://codex/main/child"
	s := Sources{
		Prices: pricer(),
		Threads: []Conversation{
			{URI: main, Requests: requests("gpt-5", 1e6, 0), Completeness: thread.Exact, Last: start},
			{URI: child, Requests: requests("nobodys-model", 500, 0), Completeness: thread.Exact, Agent: "reviewer", Main: main,
				Last: start},
		},
		Work: []handoff.Work{{Harness: "codex", ID: "w1", Thread: main, SessionID: "s1", StartedAt: start, IsError: true}},
		Artifacts: []handoff.Artifact{
			artifact("art_1", "design", "s1", main, "x"), artifact("art_2", "patch", "s1", main),
			artifact("art_3", "patch", "s2", ""),
		},
	}
	leaves := Leaves(s)
	bySession := Summarize(BySession, leaves)
	if len(bySession.Rows) != 2 || bySession.Rows[0].Key != "s1" || bySession.Rows[0].Threads != 2 ||
		bySession.Rows[0].Artifacts != 2 {
		t.Errorf("by session: %+v, want s1 with its subagent, and s2", bySession.Rows)
	}
	row := bySession.Rows[0]
	if *row.Amount.Cost != 1.25 || *row.CostPerArtifact != 0.625 ||
		!slices.Equal(row.Amount.Unpriced, []string{"nobodys-model"}) {
		t.Errorf("s1: %+v, want $1.25, half of it for an artifact, and one model without a price", row)
	}
	if row.Failed != 1 || row.FailedOut != 1 {
		t.Errorf("s1: %d failed, %d with artifacts, want 1 and 1", row.Failed, row.FailedOut)
	}
	if s2 := bySession.Rows[1]; s2.Amount.TotalTokens != nil || s2.Amount.Completeness != thread.NoUsage {
		t.Errorf("s2: %+v, want no usage", s2.Amount)
	}
	byChannel := Summarize(ByChannel, leaves)
	for _, row := range byChannel.Rows {
		if *row.Amount.Cost != 0.625 || value(row.Amount.TotalTokens) != 500_250 || row.Threads != 2 {
			t.Errorf("channel %s: %+v, want half of what the thread cost, and of its subagent", row.Key, row)
		}
	}
	if u := byChannel.Unattributed; u.Amount.TotalTokens != nil {
		t.Errorf("unattributed by channel: %+v, want nothing: the subagent counts to the artifacts of its thread", u)
	}
	byTag := Summarize(ByTag, leaves)
	if len(byTag.Rows) != 1 || *byTag.Rows[0].Amount.TotalTokens != 500_250 {
		t.Errorf("by tag: %+v, want x with half of the thread", byTag.Rows)
	}
	if byWork := Summarize(ByWork, leaves); len(byWork.Rows) != 1 || byWork.Rows[0].Key != "w1" {
		t.Errorf("by work: %+v, want w1", byWork.Rows)
	}
}

// TestHarnessIsPreferred checks that what a harness reports replaces the transcript,
// which is shown beside it if it differs by more than 5 %.
func TestHarnessIsPreferred(t *testing.T) {
	const uri = "agents://codex/1"
	for _, tt := range []struct {
		input    int64
		disputed bool
	}{{1000, false}, {1052, false}, {1100, true}, {900, true}} {
		s := Sources{
			Threads: []Conversation{{URI: uri, Requests: requests("gpt-5", 1000, 0), Completeness: thread.Exact}},
			Work: []handoff.Work{
				{Harness: "codex", ID: "a", Thread: uri, Usage: reported(tt.input-300, 0)},
				{Harness: "codex", ID: "b", Thread: uri, Usage: reported(300, 0)},
			},
		}
		l := Leaves(s)[0]
		if got := *l.Amount().TotalTokens; got != tt.input {
			t.Errorf("%d tokens, want the %d that the harness reported", got, tt.input)
		}
		if seen, got := l.Disputed(); got != tt.disputed || got && *seen.TotalTokens != 1000 {
			t.Errorf("%d beside 1000: disputed %t, want %t", tt.input, got, tt.disputed)
		}
		if r := Summarize(ByWork, []Leaf{l}); len(r.Rows) != 2 {
			t.Errorf("by work: %+v, want a row for each of the two", r.Rows)
		}
	}
}

// TestDisputedRows checks that a report has both figures for rows in which a harness
// and a transcript differ, and one for others.
func TestDisputedRows(t *testing.T) {
	first, second := "agents://codex/1", "agents://codex/2"
	s := Sources{
		Prices: pricer(),
		Threads: []Conversation{
			{URI: first, Requests: requests("gpt-5", 1000, 0), Completeness: thread.Exact, Last: start},
			{URI: second, Requests: requests("gpt-5", 500, 0), Completeness: thread.Exact, Last: start},
		},
		Work: []handoff.Work{
			{Harness: "codex", ID: "w1", Thread: first, SessionID: "s1", Model: gpt5, StartedAt: start, Usage: reported(900, 0)},
			{Harness: "codex", ID: "w2", Thread: second, SessionID: "s2", Model: gpt5, StartedAt: start,
				Usage: reported(490, 0)},
		},
	}
	leaves := Leaves(s)
	for _, by := range []string{BySession, ByWork} {
		r := Summarize(by, leaves)
		if len(r.Rows) != 2 || r.Rows[0].Transcript == nil || *r.Rows[0].Transcript.TotalTokens != 1000 ||
			*r.Rows[0].Amount.TotalTokens != 900 {
			t.Errorf("by %s: got %+v, want 900 tokens, and 1,000 by the transcript", by, r.Rows)
		}
		if r.Rows[1].Transcript != nil || r.Unattributed.Transcript != nil {
			t.Errorf("by %s: got %+v, want one figure, since 490 and 500 differ by less than 5 %%", by, r.Rows[1])
		}
		if got := *r.Total.Transcript.TotalTokens; got != 1490 {
			t.Errorf("by %s: the total by the transcripts is %d, want 1,490", by, got)
		}
		if list := r.Warnings(leaves); len(list) != 1 || !strings.Contains(list[0], "1490 tokens and not 1390") {
			t.Errorf("by %s: got %q, want both totals", by, list)
		}
	}
}

// TestHugeUsage adds numbers of records, which may be any, without overflow.
func TestHugeUsage(t *testing.T) {
	n, c := int64(math.MaxInt64), math.MaxFloat64
	var sum trace.Usage
	for range 3 {
		Add(&sum, OfWork(handoff.Work{Usage: &handoff.Usage{Input: &n, Output: &n, TotalTokens: &n, Cost: &c}}, nil))
	}
	if *sum.Input < 0 || *sum.TotalTokens < 0 || math.IsInf(*sum.Cost, 0) || n != math.MaxInt64 {
		t.Errorf("got %d, %d, %v, want sums without overflow", *sum.Input, *sum.TotalTokens, *sum.Cost)
	}
}
