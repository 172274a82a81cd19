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
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/filelog"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// growing are command lines, and by how much their work may grow when a workspace has ten times
// as much of everything: 1 is flat, 10 is linear. ART is an artifact, and SESSION the session with all the
// outputs. What starts with hook is an event that Claude Code reports.
var growing = []struct {
	line   string
	growth float64
}{
	{"--version", 1}, {"list", 1}, {"list --json", 1}, {"list --channel design", 1}, {"list --agent builder", 1},
	{"list --channels", 1}, {"list --stale", 1}, {"list --all --status superseded", 1}, {"show ART", 1},
	{"show SESSION", 10},
	{"read ART", 1}, {"search quokka", 1}, {"why docs/7.md", 1}, {"status", 1}, {"news", 1}, {"cost", 10},
	{"check", 10},
	{"gc", 10}, {"session find", 1}, {"session find --workflow intake", 10}, {"compare", 1}, {"review", 1},
	{"publish docs/7.md --channel design --title Again", 1}, {"publish docs/7.md --channel rare", 1},
	{"write context.md docs/7.md --run r1", 1}, {"withdraw ART", 1}, {"label design:latest best", 1},
	{"session open --agent casey --workflow deep-dive", 1},
	{"session add docs/out/new.md --type report --session SESSION", 10},
	{"session set --session SESSION --tag q4", 10}, {"attest --session SESSION -- true", 10}, {"verify ART", 1},
	{"wait ART", 1}, {"pipeline list", 1}, {"thread", 1}, {"config", 1}, {"doctor", 1},
	{"hook SessionStart", 1}, {"hook UserPromptSubmit", 1}, {"hook Stop", 1}, {"hook SubagentStop", 1},
	{"hook PostToolUse", 1},
	{"hook SessionEnd", 1},
}

// TestGrowth counts the system calls on files, and the bytes that they read and write, of each
// command in two workspaces, of which one has four times, with HANDOFF_LONG ten times, as many
// records, sessions, outputs and files. Without HANDOFF_LONG, what may grow is left out: each call is traced.
func TestGrowth(t *testing.T) {
	t.Parallel()
	n, times := 1000, 4
	if os.Getenv("HANDOFF_LONG") != "" {
		times = 10
	}
	small, large := newGrown(t, n), newGrown(t, times*n)
	for _, g := range growing {
		if g.growth > 1 && os.Getenv("HANDOFF_LONG") == "" {
			continue
		}
		few, less := small.work(g.line)
		many, more := large.work(g.line)
		t.Logf("%-60s %6d -> %6d calls, %8d -> %8d bytes", g.line, few, many, less, more)
		if float64(many) > g.growth*float64(few)*1.2+60 || float64(more) > g.growth*float64(less)*1.2+800_000 {
			t.Errorf("%s: %d calls and %d bytes grew to %d and %d", g.line, few, less, many, more)
		}
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
	must(t, log.Create())
	start, random := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), rand.NewChaCha8([32]byte{2})
	seq := 0
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
		if i > 3 && i%5 == 0 {
			p.Replaces = []string{g.last}
		}
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
