package threadtest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
)

// A StepKind is what happens in a step of a thread.
type StepKind int

// The kinds of steps.
const (
	Prompt     StepKind = iota // the user writes Text
	Work                       // the model makes Calls, with Text or without
	Result                     // the call in Calls returns Text, or fails
	Answer                     // the model ends its turn with Text
	Failure                    // a request fails and ends the turn
	Interrupt                  // the user interrupts the turn
	Compaction                 // the history is replaced by the summary Text
	Steer                      // the user writes Text during the turn
)

// A Step is a step of a thread.
type Step struct {
	Kind   StepKind
	N      int // of the step, from 1
	Text   string
	Calls  []Use
	Failed bool  // of a result
	InTurn bool  // of a compaction
	Last   bool  // of a result: no other call is open
	Open   []Use // calls without a result, also when they are interrupted
}

// A Use is a call of a tool: a command, or one of these.
type Use struct {
	ID     string
	N      int  // of the call, from 1
	Asks   bool // it asks the user a question
	Spawns bool // it runs a subagent
}

// A Log is the transcript of an invented thread with the state after each record.
// The states follow from the steps, not from the records.
type Log struct {
	ID, Path string // of the thread, and of its transcript in the home directory
	Lines    []string
	NoAgents bool // this transcript does not show the states of subagents

	rows []row   // of a database, in the order of Lines
	want []shown // after each line
	now  shown   // after the last step that was recorded
	step shown   // after this step
	from int     // lines whose state is known
}

// A row is a statement that adds or changes a row.
type row struct {
	query string
	args  []any
}

// Exec adds or changes a row of the transcript, which is in a database.
func (l *Log) Exec(query string, args ...any) {
	l.Lines = append(l.Lines, fmt.Sprint(args...))
	l.rows = append(l.rows, row{query, args})
}

// A shown is what a transcript shows of a thread.
type shown struct {
	status  thread.Status
	waiting bool
	agents  map[Use]thread.Status // of subagents, by their calls
	open    bool                  // the turn goes on, whatever status is shown
}

// Before is called while a step is recorded: its records so far do not show it.
func (l *Log) Before() { l.extend(l.now) }

// Shows is called while a step is recorded: its records so far show another status,
// because the format can't show the real one.
func (l *Log) Shows(s thread.Status) {
	l.now = shown{status: s, agents: l.now.agents, open: l.step.status == thread.Running}
	l.extend(l.now)
}

func (l *Log) extend(s shown) {
	for ; l.from < len(l.Lines); l.from++ {
		l.want = append(l.want, s)
	}
}

// Turns describes how a tool records threads.
type Turns struct {
	Driver thread.Driver

	// Start starts the transcript with a number, and returns the function that adds the
	// records of a step to its Lines. A step without records leaves the state unchanged.
	Start func(n int, l *Log) (record func(Step))

	Asks bool // calls that ask the user are recorded

	// NoQuestions is set if an answer that ends with a question is like any other.
	NoQuestions bool

	// NoEnd is set if some transcripts record no end of turns. A thread whose turn goes on
	// is then not completed until its transcript has thread.SettledAfter.
	NoEnd bool

	// Rewrites is set if a transcript is rewritten: each line is a complete one.
	Rewrites bool

	// Setup is set if a transcript is in a database: it writes what the database has
	// before the first row.
	Setup func(exec func(query string, args ...any), home, id string)

	// Agent returns the ID of the subagent of a call. It is nil if the transcript does
	// not show when a subagent has ended.
	Agent func(Use) string
}

// transcripts returns the number of transcripts that CheckTurns writes.
func transcripts() int {
	if os.Getenv("HANDOFF_LONG") != "" {
		return 24
	}
	return 8
}

// CheckTurns writes different threads as a tool records them and truncates each
// after every record and within every record. A document or database is read after each
// change instead. The state must be that after the step
// that was recorded last. A transcript that ends within a record is neither completed
// nor without a turn.
func CheckTurns(t *testing.T, tool Turns) {
	t.Helper()
	kinds := map[StepKind]int{}
	points := 0
	most := transcripts()
	for n := range most {
		l := new(Log)
		record := tool.Start(n, l)
		l.now = shown{status: thread.PendingInit}
		l.Before()
		for _, s := range tool.conversation(uint64(n), l.NoAgents) {
			from := len(l.Lines)
			l.step = l.now.after(s)
			record(s)
			if len(l.Lines) > from {
				kinds[s.Kind]++
			}
			if l.from < len(l.Lines) {
				l.now = l.step
				l.extend(l.now)
			}
		}
		if tool.Rewrites || tool.Setup != nil {
			points += tool.checkVersions(t, l)
		} else {
			points += tool.check(t, l)
		}
	}
	t.Logf("%d transcripts checked at %d points; recorded steps: %v", most, points, kinds)
	for _, k := range []StepKind{Prompt, Work, Answer} {
		if kinds[k] == 0 {
			t.Errorf("no step of kind %d was recorded", k)
		}
	}
}

// after returns what is shown after a step.
func (s shown) after(step Step) shown {
	s.agents = maps.Clone(s.agents)
	s.open = false
	s.waiting = slices.ContainsFunc(step.Open, func(u Use) bool { return u.Asks })
	switch step.Kind {
	case Prompt, Work, Result, Steer:
		s.status = thread.Running
	case Answer:
		s.status, s.waiting = thread.Completed, strings.HasSuffix(step.Text, "?")
	case Failure, Interrupt:
		s.status = thread.Errored
		s.waiting = false
		s.agents = nil // the states of its subagents depend on the tool
	}
	for _, u := range step.Calls {
		if !u.Spawns {
			continue
		}
		if s.agents == nil {
			s.agents = map[Use]thread.Status{}
		}
		s.agents[u] = thread.Running
		if step.Kind == Result {
			s.agents[u] = thread.Completed
		}
	}
	return s
}

// A talk is a thread that is being invented.
type talk struct {
	*rand.Rand
	asks, spawns bool
	steps        []Step
	calls        int
	open         []Use
}

func (k *talk) add(s Step) {
	s.N, s.Open = len(k.steps)+1, slices.Clone(k.open)
	if s.Text == "" {
		s.Text = fmt.Sprintf("Text %d.", s.N)
	}
	k.steps = append(k.steps, s)
}

// thread invents a thread. Each number has another one, and the first
// numbers have each end of a turn.
func (tool Turns) conversation(n uint64, noAgents bool) []Step {
	k := &talk{Rand: rand.New(rand.NewPCG(n, 14)), asks: tool.Asks, spawns: tool.Agent != nil && !noAgents}
	for turn := range 2 + k.IntN(2) {
		k.open = nil
		k.add(Step{Kind: Prompt})
		end := k.IntN(6)
		if turn == 0 {
			end = int(n % 6)
		}
		for range k.IntN(3) {
			k.work(1 + k.IntN(3))
			k.results(k.IntN(len(k.open) + 1))
			if k.IntN(3) == 0 && !k.asking() {
				k.add(Step{Kind: Steer})
			}
			k.results(len(k.open))
			if k.IntN(4) == 0 {
				k.add(Step{Kind: Compaction, InTurn: true})
			}
		}
		switch end {
		case 0:
			k.add(Step{Kind: Answer})
			if k.IntN(2) == 0 {
				k.add(Step{Kind: Compaction})
			}
		case 1:
			k.add(Step{Kind: Answer, Text: "Shall I go on?"})
		case 2:
			k.add(Step{Kind: Failure})
		case 3: // the results of some calls are missing
			k.work(2 + k.IntN(2))
			k.results(k.IntN(len(k.open)))
			k.add(Step{Kind: Interrupt})
		case 4:
			k.add(Step{Kind: Interrupt})
		case 5: // the tool is killed
			k.work(1 + k.IntN(3))
			k.results(k.IntN(len(k.open)))
		}
	}
	return k.steps
}

// work adds an answer with calls.
func (k *talk) work(calls int) {
	var uses []Use
	for range calls {
		k.calls++
		u := Use{ID: fmt.Sprintf("call%d", k.calls), N: k.calls}
		switch k.IntN(5) {
		case 0:
			u.Asks = k.asks && calls == 1
		case 1:
			u.Spawns = k.spawns
		}
		uses = append(uses, u)
	}
	k.open = append(k.open, uses...)
	k.add(Step{Kind: Work, Calls: uses})
}

// asking reports whether a call asks the user.
func (k *talk) asking() bool {
	return slices.ContainsFunc(k.open, func(u Use) bool { return u.Asks })
}

// results adds the results of n of the open calls, in any order.
func (k *talk) results(n int) {
	for range n {
		i := k.IntN(len(k.open))
		u := k.open[i]
		k.open = slices.Delete(slices.Clone(k.open), i, i+1)
		k.add(Step{Kind: Result, Calls: []Use{u}, Failed: !u.Spawns && k.IntN(4) == 0, Last: len(k.open) == 0})
	}
}

// check truncates a transcript at every point and returns their number.
func (tool Turns) check(t *testing.T, l *Log) (points int) {
	t.Helper()
	home := t.TempDir()
	p := Open(t, tool.Driver, home)
	read := func(content string) *thread.Thread {
		points++
		WriteFile(t, content, home, l.Path)
		th, err := p.Thread(t.Context(), l.ID)
		if err == nil {
			err = th.Load(t.Context())
		}
		if errors.Is(err, handoff.NotFound) { // the ID is in the content
			return nil
		}
		if err != nil {
			t.Fatalf("%s: after %d bytes: %v", l.ID, len(content), err)
		}
		return th
	}
	content := ""
	before := shown{status: thread.PendingInit}
	for i, line := range l.Lines {
		for _, end := range []int{1, len(line) / 2, len(line) - 1} {
			// A provider may use the complete members of the last record.
			th := read(content + line[:end])
			if th != nil && i > 0 && th.State.Status != before.torn() && th.State.Status != l.want[i].torn() {
				t.Errorf("%s: at byte %d of line %d: got %s, want %s", l.ID, end, i+1, describe(th.State),
					before.torn())
			}
		}
		content, before = content+line, l.want[i]
		tool.compare(t, l, i+1, p, read(content), before)
		content += "\n"
		tool.compare(t, l, i+1, p, read(content), before)
	}
	return points
}

// checkVersions reads each version of a transcript that is rewritten, or in a database,
// and returns their number.
func (tool Turns) checkVersions(t *testing.T, l *Log) (points int) {
	t.Helper()
	home := t.TempDir()
	write := func(n int) { WriteFile(t, l.Lines[n], home, l.Path) }
	if tool.Setup != nil {
		WriteDatabase(t, func(exec func(string, ...any)) { tool.Setup(exec, home, l.ID) }, home, l.Path)
		db := open(t, filepath.Join(home, filepath.FromSlash(l.Path)), "")
		defer db.Close()
		write = func(n int) { exec(t, db, l.rows[n].query, l.rows[n].args...) }
	}
	p := Open(t, tool.Driver, home)
	for n := range l.Lines {
		write(n)
		tool.compare(t, l, n+1, p, Load(t, p, l.ID), l.want[n])
	}
	return len(l.Lines)
}

// torn returns the status while the next record is written.
func (s shown) torn() thread.Status {
	if s.status == thread.Completed || s.status == thread.PendingInit {
		return thread.Running
	}
	return s.status
}

// compare compares a thread that is truncated after a line with what it should show.
func (tool Turns) compare(t *testing.T, l *Log, line int, p thread.Provider, th *thread.Thread, want shown) {
	t.Helper()
	if th == nil {
		if want.status != thread.PendingInit {
			t.Errorf("%s: after line %d: not found, want %s", l.ID, line, want.status)
		}
		return
	}
	if tool.NoQuestions && want.status == thread.Completed {
		want.waiting = false
	}
	if got := th.State; got.Status != want.status || (got.Waiting != "") != want.waiting || got.Evidence == "" {
		t.Errorf("%s: after line %d: got %s, want %s, waiting: %v\n%s", l.ID, line, describe(got), want.status,
			want.waiting, l.Lines[line-1])
	}
	tool.compareAges(t, l, line, th, want)
	if tool.Agent != nil {
		tool.compareAgents(t, l, line, p, th, want)
	}
}

// compareAges compares what is concluded from a transcript of different ages.
func (tool Turns) compareAges(t *testing.T, l *Log, line int, th *thread.Thread, want shown) {
	t.Helper()
	if th.State.NoEnd && !tool.NoEnd {
		t.Errorf("%s: after line %d: %s has no recorded end", l.ID, line, describe(th.State))
	}
	written := th.Modified
	if th.Last.After(written) {
		written = th.Last
	}
	young := time.Duration(line) * time.Second % thread.SettledAfter
	for _, age := range []time.Duration{0, young, thread.SettledAfter - 1, thread.SettledAfter} {
		concluded := *th
		thread.Observer{Now: func() time.Time { return written.Add(age) }}.Observe(th.URI(), &concluded)
		completed := th.State.Status == thread.Completed
		if age < thread.SettledAfter {
			completed = completed && !th.State.NoEnd && (!want.open || !tool.NoEnd)
		}
		if got := concluded.State; (got.Status == thread.Completed) != completed {
			t.Errorf("%s: after line %d: after %s: got %s, want completed: %v, a turn that goes on: %v", l.ID, line,
				age, describe(got), completed, want.open)
		}
	}
}

func (tool Turns) compareAgents(t *testing.T, l *Log, line int, p thread.Provider, th *thread.Thread, want shown) {
	t.Helper()
	agents, err := p.Agents(t.Context(), th)
	if err != nil {
		t.Fatal(err)
	}
	for call, status := range want.agents {
		id := tool.Agent(call)
		i := slices.IndexFunc(agents, func(a thread.Agent) bool { return a.ID == id })
		switch {
		case i < 0 && status == thread.Running: // the result is the first record that names it
		case i < 0:
			t.Errorf("%s: after line %d: no subagent %s, want %s", l.ID, line, id, status)
		case agents[i].State.Status == thread.PendingInit && status == thread.Running: // it has no transcript
		case agents[i].State.Status != status:
			t.Errorf("%s: after line %d: subagent %s: got %s, want %s", l.ID, line, id, describe(agents[i].State),
				status)
		}
	}
}
