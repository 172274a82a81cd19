//go:build linux && amd64

package faults

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/log/localstate"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// flat are command lines whose work must not grow with a workspace. ART is an artifact, and SESSION the
// session with all the outputs. What starts with hook is an event that Claude Code reports.
var flat = []string{
	"--version", "list", "list --json", "list --channel design", "list --agent builder",
	"list --channels", "list --stale", "list --all --status superseded", "show ART", "read ART",
	"search quokka", "search deep-dive", "search deep-dive --in sessions",
	"why docs/7.md", "status", "news", "session find", "compare", "review",
	"publish docs/7.md --channel design --title Again", "publish docs/7.md --channel rare",
	"write context.md docs/7.md --run r1", "withdraw ART", "label design:latest best",
	"session open --agent casey --workflow deep-dive", "verify ART", "wait ART", "pipeline list",
	"thread", "config", "doctor", "hook SessionStart", "hook UserPromptSubmit", "hook Stop",
	"hook SubagentStop", "hook PostToolUse", "hook SessionEnd",
}

// linear are those whose work may grow as much as the workspace: they read or print all of it.
var linear = []string{
	"show SESSION", "search intake", "cost", "check", "gc", "session find --workflow intake",
	"session add docs/out/new.md --type report --session SESSION",
	"session set --session SESSION --tag q4", "attest --session SESSION -- true",
}

// TestGrowth counts the system calls on files, and the bytes that they read and write, of each
// command in two workspaces, of which one has four times as many records, sessions, outputs and
// files: with HANDOFF_LONG as many times as it says, at least ten. Each call is traced, which is
// slow: without HANDOFF_LONG every third of the flat ones runs, and none of the linear ones.
func TestGrowth(t *testing.T) {
	t.Parallel()
	const n = 1000 // of which some commands read the newest thousand
	times := 4
	var lines []string
	for i := 0; i < len(flat); i += 3 {
		lines = append(lines, flat[i])
	}
	if long := os.Getenv("HANDOFF_LONG"); long != "" {
		asked, _ := strconv.Atoi(long)
		times, lines = max(asked, 10), flat
	}
	small, large := newGrown(t, n), newGrown(t, times*n)
	compare := func(lines []string, growth int) {
		for _, line := range lines {
			few, less := small.work(line)
			many, more := large.work(line)
			t.Logf("%-60s %6d -> %6d calls, %8d -> %8d bytes", line, few, many, less, more)
			if float64(many) > float64(growth*few)*1.2+60 || float64(more) > float64(growth*less)*1.2+800_000 {
				t.Errorf("%s: %d calls and %d bytes grew to %d and %d", line, few, less, many, more)
			}
		}
	}
	compare(lines, 1)
	if times == 10 {
		compare(linear, times)
	}
}

// A grown is a workspace with n of everything.
type grown struct {
	t       *testing.T
	program string
	home    string
	ws      string
	last    string // an artifact
}

const grownSession = "a3f2c9d1-4b5e-4789-81ab-cdef12345678"

func newGrown(t *testing.T, n int) *grown {
	dir := t.TempDir()
	g := &grown{t: t, program: build(t), home: filepath.Join(dir, "home"), ws: filepath.Join(dir, "ws")}
	must(t, os.MkdirAll(filepath.Join(g.ws, "docs", "out"), 0o755))
	must(t, os.Mkdir(g.home, 0o755))
	must(t, exec.Command("git", "-C", g.ws, "init", "-q").Run())
	must(t, os.WriteFile(filepath.Join(g.ws, "docs", "out", "new.md"), []byte("new"), 0o644))
	log := filelog.Open(filepath.Join(g.ws, ".handoff"), rand.NewChaCha8([32]byte{1}))
	must(t, localstate.NewDir(filepath.Join(g.ws, ".handoff"), rand.NewChaCha8([32]byte{1})).Create(t.Context()))
	must(t, log.Create())
	start, random := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), rand.NewChaCha8([32]byte{2})
	seq, before := 0, ""
	put := func(by handoff.Producer, f handoff.Fact) string {
		r, err := handoff.NewRecord(start.Add(time.Duration(seq)*time.Second), random, by, f)
		must(t, err)
		b, err := r.JSON()
		must(t, err)
		b = b[:bytes.LastIndexByte(b, '}')]
		b = fmt.Appendf(b, `,"crc32c":"%08x"}`, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
		seq++
		name := filepath.Join(g.ws, ".handoff", "log", fmt.Sprintf("%08d", (seq-1)/4096), fmt.Sprintf("%012d.json", seq))
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, b, 0o444))
		must(t, os.MkdirAll(filepath.Dir(log.File(r)), 0o700))
		must(t, os.Link(name, log.File(r)))
		return r.ID
	}
	put(handoff.Producer{}, &handoff.SessionOpened{SessionID: grownSession, Agent: handoff.SessionAgent{Name: "alex"},
		Workflow: handoff.SessionWorkflow{Name: "intake"}, Folder: "docs/out", StartedAt: start})
	for i := range n {
		text := fmt.Sprintf("Document %d about nothing.\n", i)
		name := fmt.Sprintf("docs/%d.md", i)
		must(t, os.WriteFile(filepath.Join(g.ws, name), []byte(text), 0o644))
		size := int64(len(text))
		p := &handoff.ArtifactPublished{Channel: "design", Kind: "report", Path: name, TargetType: "file",
			Title: fmt.Sprint("Design ", i), MediaType: "text/markdown", SizeBytes: &size,
			Digest: handoff.Digest{Algorithm: handoff.SHA256, Value: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}}
		switch { // every fifth has an input that was replaced
		case i > 3 && i%5 == 0:
			p.Replaces = []string{g.last}
		case i > 3 && i%5 == 1:
			p.Parents = []string{before}
		}
		before = g.last
		g.last = put(handoff.Producer{Harness: "codex", Agent: "builder", Source: handoff.FromFlag}, p)
		id := fmt.Sprintf("b3f2c9d1-4b5e-4789-81ab-%012x", i)
		put(handoff.Producer{}, &handoff.SessionOpened{SessionID: id, Agent: handoff.SessionAgent{Name: "casey"},
			Workflow: handoff.SessionWorkflow{Name: "deep-dive"}, Folder: "docs/s/" + id, StartedAt: start})
		put(handoff.Producer{}, &handoff.SessionClosed{SessionID: id, Status: "completed"})
		output := fmt.Sprintf("docs/out/%d.md", i)
		must(t, os.WriteFile(filepath.Join(g.ws, output), []byte(text), 0o644))
		put(handoff.Producer{Harness: "codex", Agent: "alex", Session: grownSession, Source: handoff.FromFlag},
			&handoff.ArtifactPublished{Channel: "outputs", Kind: "report", Path: output, TargetType: "file", SizeBytes: &size,
				Digest: p.Digest})
	}
	first := exec.Command(g.program, "list") // fills the index
	first.Dir, first.Env = g.ws, g.env()
	out, err := first.CombinedOutput()
	if err != nil {
		t.Fatalf("handoff list: %v\n%s", err, out)
	}
	return g
}

func (g *grown) env() []string {
	return []string{"HOME=" + g.home, "PATH=" + os.Getenv("PATH"), "GOMAXPROCS=1"}
}

// work runs a command, after it ran once, and returns what it asked of the system.
func (g *grown) work(line string) (calls, transferred int) {
	g.t.Helper()
	args := strings.Fields(strings.NewReplacer("ART", g.last, "SESSION", grownSession).Replace(line))
	input := os.DevNull
	if args[0] == "hook" {
		input = filepath.Join(g.home, "event.json")
		must(g.t, os.WriteFile(input, fmt.Appendf(nil, `{"hook_event_name":%q,"session_id":%q,"cwd":%q,"agent_id":"a1",
			"tool_name":"Bash","tool_input":{"command":"ls"},"prompt":"go on"}`, args[1], grownSession, g.ws), 0o644))
		args = []string{"hook", "claude"}
	}
	out, err := os.Create(filepath.Join(g.home, "out"))
	must(g.t, err)
	defer out.Close()
	attr := func() *os.ProcAttr {
		in, err := os.Open(input)
		must(g.t, err)
		g.t.Cleanup(func() { in.Close() })
		return &os.ProcAttr{Dir: g.ws, Files: []*os.File{in, out, out}, Env: g.env()}
	}
	p, err := os.StartProcess(g.program, append([]string{"handoff"}, args...), attr()) // what is done once
	must(g.t, err)
	_, err = p.Wait()
	must(g.t, err)
	g.checkpoint() // so that no command does what many before have left to do
	c := &tracer{}
	if code := c.run(g.t, g.program, attr(), args...); code > 1 {
		text, _ := os.ReadFile(out.Name())
		g.t.Fatalf("handoff %s: exit code %d\n%s", line, code, text)
	}
	return len(c.calls), c.bytes
}

// checkpoint writes the log of the index into its file.
func (g *grown) checkpoint() {
	g.t.Helper()
	file := filepath.Join(g.ws, ".handoff", "index.db")
	if _, err := os.Stat(file); err != nil {
		return
	}
	db := sqlite.New(file, "file:"+file)
	defer db.Close()
	must(g.t, db.Use(g.t.Context(), func(c *sqlite.Conn) error {
		return c.Exec(g.t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`)
	}))
}
