//go:build unix

package bench

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
)

// A measured process is one that a table compares with others.
type measured struct {
	name    string
	args    []string
	stdin   func(n int) string
	prepare func(n int) // before each start, not measured
	fails   bool        // ends with an error by design
}

// A figure is what one process took.
type figure struct{ elapsed, processor time.Duration }

// A table prints the rows of a table in Markdown: complete processes that
// run alternately, medians, and the ratio to the second one.
type table struct {
	b     *testing.B
	home  string
	hello measured
	peak  string
}

func newTable(b *testing.B, hello string) *table {
	bin := fresh(b)
	t := &table{b: b, home: fresh(b), peak: filepath.Join(bin, "peak"),
		hello: measured{name: "hello-world", args: []string{hello}}}
	write(b, t.peak+".go", peakText)
	build(b, t.peak, t.peak+".go")
	fmt.Println("| work | elapsed | processor | memory | beside | elapsed | processor | times, processor | more |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	return t
}

// row measures ours beside each of others, or hello-world if there are none, so
// many times, in the directory dir.
func (t *table) row(times int, dir string, ours measured, others ...measured) {
	if len(others) == 0 {
		others = []measured{t.hello}
	}
	all := append([]measured{ours}, others...)
	took := make([][]figure, len(all))
	for n := range times {
		for i := range all {
			i = (i + n) % len(all)
			took[i] = append(took[i], t.start(dir, all[i], n))
		}
	}
	most := int64(0)
	if ours.stdin == nil && !ours.fails {
		if ours.prepare != nil {
			ours.prepare(times)
		}
		most = t.memory(dir, ours.args)
	}
	o := middle(took[0])
	for i, other := range others {
		p := middle(took[i+1])
		fmt.Printf("| %s | %s | %s | %d MB | %s | %s | %s | %.2f | %+.1f ms |\n", ours.name, short(o.elapsed),
			short(o.processor), most>>20, other.name, short(p.elapsed), short(p.processor),
			float64(o.processor)/float64(p.processor), ms(o.elapsed-p.elapsed))
	}
}

func (t *table) command(dir string, args []string) *exec.Cmd {
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env = dir, []string{"HOME=" + t.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	return c
}

func (t *table) start(dir string, m measured, n int) figure {
	if m.prepare != nil {
		m.prepare(n)
	}
	c := t.command(dir, m.args)
	if m.stdin != nil {
		c.Stdin = strings.NewReader(m.stdin(n))
	}
	var errs strings.Builder
	c.Stderr = &errs
	elapsed := timed(func() {
		if err := c.Run(); err != nil && !m.fails {
			t.b.Fatalf("%q: %v\n%s", m.args, err, errs.String())
		}
	})
	return figure{elapsed, c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
}

// memory returns the peak memory of a process in bytes.
func (t *table) memory(dir string, args []string) int64 {
	out, err := t.command(dir, append([]string{t.peak}, args...)).Output()
	must(t.b, err)
	n, err := strconv.ParseInt(lastLine(string(out)), 10, 64)
	must(t.b, err)
	return n << 10
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

func middle(list []figure) figure {
	elapsed, processor := make([]time.Duration, len(list)), make([]time.Duration, len(list))
	for i, f := range list {
		elapsed[i], processor[i] = f.elapsed, f.processor
	}
	return figure{median(elapsed), median(processor)}
}

func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", ms(d))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// found returns the peer whose program an environment variable has, or else the
// PATH. Without it, the table has no row of it.
func found(variable, name string, args ...string) []measured {
	program := os.Getenv(variable)
	if program == "" {
		var err error
		if program, err = exec.LookPath(name); err != nil {
			return nil
		}
	}
	return []measured{{name: name, args: append([]string{program}, args...)}}
}

// BenchmarkTableStart compares the start of the process with that of other programs.
func BenchmarkTableStart(b *testing.B) {
	program, hello := programs(b)
	t, dir := newTable(b, hello), fresh(b)
	others := []measured{t.hello}
	for _, peer := range [][2]string{{"DEJA", "deja"}, {"RG", "rg"}, {"GIT", "git"}, {"CCUSAGE", "ccusage"}} {
		others = append(others, found(peer[0], peer[1], "--version")...)
	}
	t.row(61, dir, measured{name: "`--version`", args: []string{program, "--version"}}, others...)
	t.row(61, dir, measured{name: "completion of `sh`", args: []string{program, "__complete", "sh"}})
	t.row(61, dir, measured{name: "`hook`, an event that is not recorded", args: []string{program, "hook", "claude"},
		stdin: func(n int) string {
			return fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s1","x":%d,"cwd":%q}`, n, dir)
		}})
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTableLog compares commands and hooks with hello-world, in workspaces of
// 10,000 and 200,000 artifacts without transcripts, or of HANDOFF_RECORDS.
func BenchmarkTableLog(b *testing.B) {
	program, hello := programs(b)
	t := newTable(b, hello)
	sizes := []int{10_000, 200_000}
	if text := os.Getenv("HANDOFF_RECORDS"); text != "" {
		n, err := strconv.Atoi(text)
		must(b, err)
		sizes = []int{n}
	}
	for _, size := range sizes {
		t.log(program, size)
	}
	b.ReportMetric(0, "ns/op")
}

// log prints the rows of a workspace with so many artifacts.
func (t *table) log(program string, size int) {
	dir := fresh(t.b)
	runtime := filepath.Join(dir, ".handoff")
	must(t.b, localstate.NewDir(runtime, nil).Create(t.b.Context()))
	must(t.b, filelog.Open(runtime, rand.Reader).Create())
	ids, err := writeLog(runtime, size)
	must(t.b, err)
	file := filepath.Join(dir, "a.md")
	command := func(name string, args ...string) measured {
		return measured{name: fmt.Sprintf("%s, %d", name, size), args: append([]string{program}, args...)}
	}
	first := command("first index", "list")
	first.prepare = func(int) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(filepath.Join(runtime, "index.db"+suffix))
		}
	}
	t.row(1, dir, first)
	for _, m := range []measured{
		command("`list`", "list"), command("`list --channel`", "list", "--channel", "design"),
		command("`list --tag`", "list", "--tag", "agent"), command("`list --agent`", "list", "--agent", "reviewer"),
		command("`list --channels`", "list", "--channels"), command("`show REF`", "show", ids[size/2]),
		command("`show REF --lineage`", "show", ids[size/2], "--lineage"), command("`status`", "status"),
		command("`news`", "news"), command("`session find`", "session", "find"),
		command("`search` of two words", "search", "policy", "retry"), command("`cost`", "cost"),
		command("`why` of an unknown file", "why", "unknown.md"),
	} {
		m.fails = strings.HasPrefix(m.name, "`why`")
		t.row(21, dir, m)
	}
	n := 0 // each publish has another content
	publish := command("`publish`", "publish", "a.md", "--channel", "design", "--title", "t")
	publish.prepare = func(int) { n++; write(t.b, file, strconv.Itoa(n)) }
	t.row(21, dir, publish)
	named := command("`write`", "write", "context.md", "a.md", "--run", "bench")
	named.prepare = publish.prepare
	t.row(21, dir, named)
	for _, event := range [][2]string{
		{"SessionStart", `"source":"resume"`}, {"UserPromptSubmit", `"prompt_id":"p%d"`}, {"Stop", `"prompt_id":"p%d"`},
		{"SubagentStop", `"agent_id":"a%d","last_assistant_message":"Fine."`},
	} {
		hook := command("`hook` "+event[0], "hook", "claude")
		hook.stdin = func(n int) string {
			return fmt.Sprintf(`{"hook_event_name":%q,"session_id":"s1","cwd":%q,%s}`, event[0], dir,
				strings.ReplaceAll(event[1], "%d", strconv.Itoa(n)))
		}
		t.row(21, dir, hook)
	}
	check := command("`check`", "check")
	check.fails = true // what was published has no files
	t.row(1, dir, check)
}

// BenchmarkTableThreads compares what reads transcripts with deja-vu, ripgrep or grep,
// and hello-world: 345 MB in 3,500 files of Claude Code and Codex, 2,000 rollouts, and
// a list of 22,600 threads. DEJA has the program of deja-vu, RG that of ripgrep.
func BenchmarkTableThreads(b *testing.B) {
	program, hello := programs(b)
	t := newTable(b, hello)
	last := archive(b, t.home)
	search := func(name string, args ...string) measured {
		return measured{name: name, args: append([]string{program, "search", "--in", "threads", "--everywhere"}, args...)}
	}
	forget := func(int) { must(b, os.RemoveAll(filepath.Join(t.home, ".cache"))) }
	deja := func(args ...string) []measured { return found("DEJA", "deja", args...) }
	grep := found("GREP", "grep", "-rlwi", "quokkazebra", ".codex", ".claude")
	grep = append(grep, found("RG", "rg", "-lwi", "--no-ignore", "--hidden", "quokkazebra", ".codex", ".claude")...)
	for i := range grep {
		grep[i].fails = true // there is no match
	}
	with := func(m ...[]measured) (all []measured) {
		for _, list := range m {
			all = append(all, list...)
		}
		return all
	}
	t.row(5, t.home, search("search, absent word, without an index", "quokkazebra", "--no-index"), grep...)
	cold := search("first index and a search", "quokkazebra")
	cold.prepare = forget
	t.row(1, t.home, cold, deja("index", "--rebuild")...)
	absent := search("search, absent word", "quokkazebra")
	t.row(15, t.home, absent, with([]measured{t.hello}, deja("quokkazebra"), grep)...)
	t.row(15, t.home, search("search, rare word", "needle"), with([]measured{t.hello}, deja("needle"))...)
	t.row(5, t.home, search("search, common word", "agent"), with([]measured{t.hello}, deja("agent"))...)
	added := search("search after a line was added", "quokkazebra")
	added.prepare = func(int) { appendLine(b, last) }
	t.row(15, t.home, added, absent)
	list := func(name string, args ...string) measured {
		return measured{name: name, args: append([]string{program, "threads", "--everywhere", "--limit"}, args...)}
	}
	t.row(15, t.home, list("list of 20 threads", "20"), with([]measured{t.hello}, deja("last", "20"))...)

	t.home = fresh(b)
	known, unknown := rollouts(b, t.home)
	for _, m := range []measured{
		{name: "one of 2,000 rollouts, whose ID has its day", args: []string{"thread", "codex/" + known}},
		{name: "one of 2,000 rollouts, another ID", args: []string{"thread", "codex/" + unknown}},
		{name: "`-I` of 12 subagents", args: []string{"thread", "-I", "codex/" + threadID(0)}},
		{name: "an ID that does not exist", args: []string{"thread", "codex/" + threadID(1<<20)}, fails: true},
	} {
		m.args = append([]string{program}, m.args...)
		t.row(41, t.home, m)
	}

	t.home = fresh(b)
	for i := range 22_600 {
		rollout(b, t.home, i, 6<<10, nil)
	}
	t.row(15, t.home, list("list of 22,600 threads, 5 shown", "5"))
	t.row(15, t.home, list("the same without an index", "5", "--no-index"))
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTableAttest compares attest in a worktree of 300,000 files with git, which
// compares the committed ones and adds the untracked ones to an index of its own.
func BenchmarkTableAttest(b *testing.B) {
	program, hello := programs(b)
	t, dir := newTable(b, hello), fresh(b)
	git := func(args ...string) { must(b, t.command(dir, append([]string{"git"}, args...)).Run()) }
	must(b, os.Remove(filepath.Join(dir, ".git")))
	git("init", "-q")
	git("config", "user.email", "bench@example.com")
	git("config", "user.name", "bench")
	for i := range 300_000 {
		write(b, filepath.Join(dir, strconv.Itoa(i/1000), strconv.Itoa(i%1000)), "")
	}
	attest := measured{args: []string{program, "attest", "--", "true"}}
	temporary := measured{name: "`git add -A`, index and objects of its own", args: []string{"/bin/sh", "-c",
		`d=$(mktemp -d) && mkdir $d/o && GIT_INDEX_FILE=$d/index GIT_OBJECT_DIRECTORY=$d/o git add -A; rm -rf $d`}}
	attest.name = "`attest`, 300,000 untracked files"
	t.row(3, dir, attest, temporary)
	git("add", "-A")
	git("commit", "-qm", "files")
	attest.name = "`attest`, 300,000 committed files"
	t.row(5, dir, attest, measured{name: "`git status`", args: []string{"git", "status", "--porcelain"}})
	b.ReportMetric(0, "ns/op")
}
