// Package demo runs four agents that share files.
//
// An architect, a builder, a reviewer and a lead, each a process of its own,
// fix a small Go program. No agent knows where the others' files are: each waits
// for the artifacts that it needs, reads them, and publishes its result, with
// the commands that any agent would use.
package demo

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session"
)

//go:embed files/*.txt
var files embed.FS

// tree are the files of the program that the agents fix.
var tree = []string{"go.mod", "slug.go", "slug_test.go"}

// A Stage is where the demo runs, and everything that it takes from outside.
type Stage struct {
	Dir     string // where the demo creates its directory; for a role, that directory
	Program string // path of handoff
	Out     io.Writer
	Flush   func() error // writes out what was printed
	Environ []string
	Now     func() time.Time
	Rand    io.Reader
}

// Run creates a directory, runs the four agents in it, and prints a summary.
// Error kind: Unavailable.
func (s Stage) Run(ctx context.Context) error {
	start := s.Now()
	dir, err := freshDir(s.Dir)
	if err != nil {
		return err
	}
	for _, name := range tree {
		if err := writeFile(filepath.Join(dir, "src", name), embedded(name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Out, "four agents share %s\n\n", dir)
	if err := s.play(ctx, dir); err != nil {
		return err
	}
	return s.receipt(ctx, dir, start)
}

// freshDir creates the first unused directory of the demo in parent.
func freshDir(parent string) (string, error) {
	for i := 1; ; i++ {
		dir := filepath.Join(parent, fmt.Sprintf("handoff-demo-%d", i))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", &handoff.Error{Op: "demo", Name: dir, Kind: handoff.Unavailable, Err: err, Hint: handoff.Advice("run it in a writable directory")}
		}
		return dir, os.Mkdir(filepath.Join(dir, "src"), 0o777)
	}
}

func embedded(name string) string {
	b, err := files.ReadFile("files/" + name + ".txt")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

func writeFile(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(content), 0o666)
}

// play runs the four agents as processes, each under its own run.
func (s Stage) play(ctx context.Context, dir string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	id, err := session.NewID(s.Rand)
	if err != nil {
		return err
	}
	stage := &prefixed{out: s.Out, flush: s.Flush}
	errs := make(chan error, len(names))
	for _, name := range names {
		run, err := session.NewID(s.Rand)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, s.Program, "demo", "--role", name)
		cmd.Dir = dir
		cmd.WaitDelay = time.Second
		cmd.Env = append(s.Environ, "HANDOFF_WORKSPACE="+dir, "HANDOFF_DIR=", "HANDOFF_SESSION="+id,
			"HANDOFF_RUN="+run, "HANDOFF_AGENT="+name, "HANDOFF_HARNESS=handoff-demo", "HANDOFF_THREAD=", "HANDOFF_TASK=", "HANDOFF_OPERATION=")
		go func() { errs <- stage.run(cmd, name) }()
	}
	var failed error
	for range names {
		if err := <-errs; err != nil && failed == nil {
			failed = err
			stop() // the others would wait for an artifact that is never published
		}
	}
	if failed != nil {
		return &handoff.Error{Op: "demo", Name: dir, Kind: handoff.Unavailable, Err: failed, Hint: handoff.Suggest("see what was published before the failure", handoff.ActionList)}
	}
	return nil
}

// prefixed prints the lines of several processes, each after a name.
type prefixed struct {
	mu    sync.Mutex
	out   io.Writer
	flush func() error
}

func (p *prefixed) run(cmd *exec.Cmd, name string) error {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	last := ""
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		last = lines.Text()
		p.mu.Lock()
		fmt.Fprintf(p.out, "%-9s │ %s\n", name, last)
		p.flush()
		p.mu.Unlock()
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("the %s failed: %s", name, last)
	}
	return nil
}

// receipt prints what the agents published, and the lineage of the summary.
func (s Stage) receipt(ctx context.Context, dir string, start time.Time) error {
	env := append(s.Environ, "HANDOFF_WORKSPACE="+dir, "HANDOFF_DIR=", "HANDOFF_SESSION=", "HANDOFF_RUN=")
	run := func(out io.Writer, args ...string) error {
		cmd := exec.CommandContext(ctx, s.Program, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, io.Discard
		return cmd.Run()
	}
	var answer strings.Builder
	if err := run(&answer, "list", "--all", "--limit", "0", "--json"); err != nil {
		return err
	}
	var page handoff.ArtifactPage
	if err := json.Unmarshal([]byte(answer.String()), &page); err != nil {
		return err
	}
	last := page.Artifacts[0]
	fmt.Fprintf(s.Out, "\nreceipt: %d artifacts by %d agents in %.1fs\n", len(page.Artifacts), len(names), s.Now().Sub(start).Seconds())
	if err := run(s.Out, "list", "--all", "--limit", "0"); err != nil {
		return err
	}
	fmt.Fprint(s.Out, "\nwhat the summary was made from:\n")
	if err := run(s.Out, "show", last.ID, "--lineage"); err != nil {
		return err
	}
	rel, err := filepath.Rel(s.Dir, dir)
	if err != nil {
		rel = dir
	}
	fmt.Fprintf(s.Out, "\ntry next: cd %s && handoff show %s --lineage --format mermaid\n", rel, last.ID)
	fmt.Fprintf(s.Out, "          handoff read %s prints the summary for the next agent\n", last.ID)
	if _, err := exec.LookPath("handoff"); err != nil {
		fmt.Fprintln(s.Out, "handoff is not on your PATH; to install it, run: go install ./cmd/handoff")
	}
	return nil
}
