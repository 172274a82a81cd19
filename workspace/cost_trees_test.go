package workspace_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/work"
)

// A costTree is a generated history of threads: what the naive program reads.
type costTree struct {
	*machine
	random  *rand.Rand
	begin   time.Time
	threads []*costThread
	reports []costRequest // of work without a thread
	opened  []string      // sessions and runs
}

type costThread struct {
	id, role, model, session string
	by                       *costThread // that started it, nil for a main agent
	gone                     bool        // it has no transcript
	requests                 []costRequest
	inside                   []costRequest // of reported work inside the work of the thread
	artifacts                []costArtifact
}

// main returns the thread that has no other above it.
func (th *costThread) main() *costThread {
	for th.by != nil {
		th = th.by
	}
	return th
}

// uri returns one of the URIs that records have of a thread.
func (th *costThread) uri(full bool) string {
	if main := th.main(); full && main != th {
		return "agents://codex/" + main.id + "/" + th.id
	}
	return "agents://codex/" + th.id
}

type costRequest struct {
	at     time.Time
	tokens int64
}

type costArtifact struct {
	id, channel string
	at          time.Time
}

func newCostTree(t *testing.T, seed uint64) *costTree {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	begin := time.Date(2026, 9, 20, 0, 0, 0, 0, time.UTC)
	m := &machine{t: t, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "repo"), at: begin,
		records: map[string][]string{}}
	must(t, os.MkdirAll(filepath.Join(m.repo, ".handoff"), 0o755)) // not the workspace of a directory above
	return &costTree{machine: m, random: rand.New(rand.NewPCG(seed, 27)), begin: begin}
}

// moment sets the clock to any time of four days.
func (c *costTree) moment() {
	c.at = c.begin.Add(time.Duration(c.random.IntN(4*24*60)) * time.Minute)
}

// grow adds a thread with its subagents, which have subagents themselves.
func (c *costTree) grow(by *costThread, depth int) {
	n := len(c.threads)
	th := &costThread{id: fmt.Sprintf("019c871c-b1f9-7f60-9c4f-%012d", n), by: by,
		model: []string{"gpt-5", "gpt-5-mini"}[c.random.IntN(2)]}
	if by != nil {
		th.role, th.gone = fmt.Sprint("role", c.random.IntN(2)), c.random.IntN(4) == 0
	}
	c.threads = append(c.threads, th)
	for range c.random.IntN(4) {
		c.moment()
		th.requests = append(th.requests, costRequest{c.at, int64(1 + c.random.IntN(1000))})
	}
	slices.SortFunc(th.requests, func(a, b costRequest) int { return a.at.Compare(b.at) })
	if depth < 2 && !th.gone {
		for range c.random.IntN(3) {
			c.grow(th, depth+1)
		}
	}
}

// transcripts writes the threads as Codex does.
func (c *costTree) transcripts() {
	for _, th := range c.threads {
		if th.gone {
			continue
		}
		a := &agent{c.machine, th.id, "", c.repo, true, ""}
		c.at = c.begin
		meta := object{"id": th.id, "cwd": c.repo, "cli_version": "0.150.0", "source": "cli", "model_provider": "openai"}
		if th.by != nil {
			meta["source"] = object{"subagent": object{
				"thread_spawn": object{"parent_thread_id": th.by.id, "agent_role": th.role}}}
		}
		a.item("session_meta", meta)
		a.item("turn_context", object{"model": th.model, "cwd": c.repo})
		a.item("response_item", object{"type": "message", "role": "user",
			"content": []object{{"type": "input_text", "text": "go"}}})
		for _, child := range c.threads {
			if child.by == th {
				a.item("response_item", object{"type": "function_call", "name": "spawn_agent", "call_id": "s" + child.id,
					"arguments": "{}"})
				a.item("response_item", object{"type": "function_call_output", "call_id": "s" + child.id,
					"output": `{"agent_id":"` + child.id + `"}`})
			}
		}
		var sum int64
		for _, r := range th.requests {
			c.at = r.at.Add(-time.Second)
			sum += r.tokens
			counts := func(n int64) object {
				return object{"input_tokens": n, "cached_input_tokens": 0, "output_tokens": 0, "reasoning_output_tokens": 0,
					"total_tokens": n}
			}
			a.item("event_msg", object{"type": "token_count",
				"info": object{"total_token_usage": counts(sum), "last_token_usage": counts(r.tokens)}})
		}
	}
	c.save()
}

// records publishes artifacts, in runs that the threads started and outside of them, and
// records work.
func (c *costTree) records(w *workspace.Workspace) {
	ctx := c.t.Context()
	open := func(p handoff.Producer) string {
		c.moment()
		opened, err := w.As(workspace.Caller{Dir: c.repo, Producer: p}).Runs().Start(ctx, session.OpenOptions{
			Agent: handoff.SessionAgent{Name: "alex"}, Workflow: handoff.SessionWorkflow{Name: "build"}})
		must(c.t, err)
		c.opened = append(c.opened, opened.ID)
		return opened.ID
	}
	for _, th := range c.threads {
		main := th.main()
		if th == main && c.random.IntN(2) == 0 {
			th.session = open(handoff.Producer{})
			p := handoff.Producer{Harness: "codex", Session: th.session, Thread: th.uri(false)}
			units := w.As(workspace.Caller{Dir: c.repo, Producer: p}).Work(nil)
			_, err := units.Start(ctx, work.Unit{ID: th.id, Thread: p.Thread})
			must(c.t, err)
			for i := range c.random.IntN(2) {
				p.Thread = ""
				c.moment()
				id, n, zero := fmt.Sprint(th.id, "-", i), int64(1+c.random.IntN(1000)), int64(0)
				units := w.As(workspace.Caller{Dir: c.repo, Producer: p}).Work(nil)
				_, err := units.Start(ctx, work.Unit{ID: id, Parent: th.id})
				must(c.t, err)
				_, err = units.End(ctx, work.End{ID: id, Usage: &handoff.Usage{Input: &n, Output: &zero}})
				must(c.t, err)
				th.inside = append(th.inside, costRequest{c.at, n})
			}
		}
		th.session = main.session
		for range c.random.IntN(3) {
			p := handoff.Producer{Harness: "codex", Thread: th.uri(c.random.IntN(2) == 0), Session: main.session}
			if c.random.IntN(2) == 0 {
				by := []*costThread{main, th}[c.random.IntN(2)]
				p.Agent = "nested"
				p.Session = open(handoff.Producer{Harness: "codex", Thread: by.uri(c.random.IntN(2) == 0)})
			}
			c.moment()
			channel := fmt.Sprint("channel", c.random.IntN(3))
			name := fmt.Sprintf("%s-%d.md", th.id, len(th.artifacts))
			writeFile(c.t, filepath.Join(c.repo, name), name)
			done, err := w.As(workspace.Caller{Dir: c.repo, Producer: p}).Publish(ctx,
				handoff.Draft{Path: name, Channel: channel, Tags: []string{"t"}})
			must(c.t, err)
			th.artifacts = append(th.artifacts, costArtifact{done.Artifact.ID, channel, c.at})
		}
	}
	for i := range c.random.IntN(3) {
		flue := w.As(workspace.Caller{Dir: c.repo, Producer: handoff.Producer{Harness: "flue"}}).Work(nil)
		c.moment()
		n, zero := int64(1+c.random.IntN(1000)), int64(0)
		_, err := flue.End(ctx, work.End{ID: fmt.Sprint("w", i), Usage: &handoff.Usage{Input: &n, Output: &zero}})
		must(c.t, err)
		c.reports = append(c.reports, costRequest{c.at, n})
	}
}

// naive adds up the tokens of a period by the rules of docs/cost.md. The key "" is what
// belongs to no row.
func (c *costTree) naive(by string, since, until time.Time) (rows map[string]int64, total int64) {
	rows = map[string]int64{}
	in := func(t time.Time) bool { return !t.Before(since) && t.Before(until) }
	for _, r := range c.reports {
		if !in(r.at) {
			continue
		}
		total += r.tokens
		rows[map[string]string{"day": r.at.Format("2006-01-02"), "program": "flue", "agent": "flue"}[by]] += r.tokens
	}
	for _, th := range c.threads {
		var used int64
		for _, r := range th.requests {
			if !th.gone && in(r.at) {
				used += r.tokens
				if by == "day" {
					rows[r.at.Format("2006-01-02")] += r.tokens
				}
			}
		}
		total += used
		for _, r := range th.inside {
			if !in(r.at) {
				continue
			}
			total += r.tokens
			if by == "artifact" || by == "channel" {
				share(rows, by, r.tokens, th, in)
			} else {
				rows[map[string]string{"day": r.at.Format("2006-01-02"), "program": "codex", "agent": "codex",
					"session": th.session}[by]] += r.tokens
			}
		}
		switch by {
		case "day":
		case "artifact", "channel":
			share(rows, by, used, th, in)
		default:
			agent := cmp.Or(th.role, "codex")
			rows[map[string]string{"session": th.session, "agent": agent, "program": "codex", "model": th.model}[by]] += used
		}
	}
	return rows, total
}

// share gives the artifacts of a thread, or of the nearest one above with some, equal
// parts of a number; the first of them have one more each if there is a remainder.
func share(rows map[string]int64, by string, used int64, th *costThread, in func(time.Time) bool) {
	var keys []string
	for ; th != nil && len(keys) == 0; th = th.by {
		for _, a := range th.artifacts {
			if in(a.at) {
				keys = append(keys, map[string]string{"artifact": a.id, "channel": a.channel}[by])
			}
		}
	}
	if len(keys) == 0 {
		rows[""] += used
		return
	}
	slices.Sort(keys)
	for i, key := range keys {
		rows[key] += used / int64(len(keys))
		if int64(i) < used%int64(len(keys)) {
			rows[key]++
		}
	}
}

// TestCostTrees compares the cost of generated trees of threads, in periods that begin
// and end between their requests, with a program that shares no code with it. There are
// 100 of them with HANDOFF_LONG, and few with -short.
func TestCostTrees(t *testing.T) {
	trees := uint64(5)
	if os.Getenv("HANDOFF_LONG") != "" {
		trees = 100
	}
	if testing.Short() {
		trees = 4
	}
	for seed := range trees {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			c := newCostTree(t, seed)
			for range 1 + c.random.IntN(2) {
				c.grow(nil, 0)
			}
			w := c.open(c.repo)
			defer w.Close()
			c.records(w)
			c.transcripts()
			since := c.begin.Add(24 * time.Hour).Add(time.Duration(c.random.IntN(1440)) * time.Minute)
			until := since.Add(24 * time.Hour)
			c.at = c.begin.Add(5 * 24 * time.Hour)
			for _, period := range [][2]time.Time{{since, until}, {time.Time{}, c.at}} {
				c.compare(seed, w, period[0], period[1])
			}
			c.receipts(seed, w)
		})
	}
}

// compare compares every grouping of a period.
func (c *costTree) compare(seed uint64, w *workspace.Workspace, since, until time.Time) {
	c.t.Helper()
	set := thread.NewSet(all.Drivers(), c.getenv, c.home)
	for _, by := range work.CostGroups() {
		o := work.CostOptions{By: by, Until: until.Format(time.RFC3339), NoIndex: seed%4 != 0}
		if !since.IsZero() {
			o.Since = since.Format(time.RFC3339)
		}
		r, err := w.Work(set).Cost(c.t.Context(), o)
		must(c.t, err)
		want, total := c.naive(by, since, until)
		got, sum, dollars := map[string]int64{}, int64(0), 0.0
		for _, row := range append(r.Rows, r.Unattributed) {
			n, price := int64(0), 0.0
			if row.Amount.TotalTokens != nil {
				n = *row.Amount.TotalTokens
			}
			if row.Amount.Cost != nil {
				price = *row.Amount.Cost
			}
			got[row.Key], sum, dollars = n, sum+n, dollars+price
		}
		all, cost := r.Total.Amount.TotalTokens, r.Total.Amount.Cost
		if n := *cmp.Or(all, new(int64)); n != total || sum != total {
			c.t.Errorf("tree %d by %s: the rows have %d tokens, the total %d, want %d", seed, by, sum, n, total)
		}
		if price := *cmp.Or(cost, new(float64)); math.Abs(price-dollars) > 1e-9 {
			c.t.Errorf("tree %d by %s: the rows cost %v, the total %v", seed, by, dollars, price)
		}
		if slices.Contains([]string{"session", "agent", "program", "model", "day", "artifact", "channel"}, by) {
			none := func(_ string, n int64) bool { return n == 0 }
			maps.DeleteFunc(got, none)
			maps.DeleteFunc(want, none)
			if !maps.Equal(got, want) {
				c.t.Errorf("tree %d by %s from %s to %s: got %v, want %v", seed, by, since, until, got, want)
			}
		}
	}
}

// receipts compares the figures of each session and artifact in its receipt, which show
// and why print, with those of the naive program.
func (c *costTree) receipts(seed uint64, w *workspace.Workspace) {
	c.t.Helper()
	units := w.Work(thread.NewSet(all.Drivers(), c.getenv, c.home))
	want, _ := c.naive("session", time.Time{}, c.at)
	for _, id := range c.opened {
		r, err := units.OfSession(c.t.Context(), id)
		must(c.t, err)
		if got := *cmp.Or(r.Usage.TotalTokens, new(int64)); got != want[id] {
			c.t.Errorf("tree %d: the receipt of session %s has %d tokens, want %d", seed, id, got, want[id])
		}
	}
	want, _ = c.naive("artifact", time.Time{}, c.at)
	for _, th := range c.threads {
		for _, made := range th.artifacts {
			s, err := w.Show(c.t.Context(), made.id, false)
			must(c.t, err)
			r, err := units.OfArtifact(c.t.Context(), *s.Artifact)
			must(c.t, err)
			var got int64
			if r.Share != nil && r.Share.TotalTokens != nil {
				got = *r.Share.TotalTokens
			}
			if got != want[made.id] {
				c.t.Errorf("tree %d: the receipt of %s has %d tokens, want %d", seed, made.id, got, want[made.id])
			}
		}
	}
}
