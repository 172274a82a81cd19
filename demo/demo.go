// Package demo plays four agents that hand real files on, each a process of its
// own that runs nothing but handoff's commands.
package demo

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
)

//go:embed files/*.txt
var files embed.FS

// tree are the files of the little program that the agents mend.
var tree = []string{"go.mod", "slug.go", "slug_test.go"}

// A Stage is where the demo is played, and all that it takes from outside.
type Stage struct {
	Dir     string // the current directory
	Self    string // the program handoff
	Environ []string
	Out     io.Writer
	Flush   func() error // sends on what was written to Out
	NewID   func() (string, error)
}

// Play lets the four agents play in a fresh directory, and returns it. Its kind
// is Unavailable.
func (s Stage) Play(ctx context.Context) (dir string, err error) {
	if dir, err = freshDir(s.Dir); err != nil {
		return "", err
	}
	for _, name := range tree {
		if err := writeFile(filepath.Join(dir, "src", name), text(name)); err != nil {
			return "", err
		}
	}
	fmt.Fprintf(s.Out, "four agents share %s\n\n", dir)
	return dir, s.play(ctx, dir)
}

// Act plays one agent, in the directory that all share. Its kind is Invalid:
// there is no such role.
func (s Stage) Act(ctx context.Context, role string) error {
	act, ok := roles[role]
	if !ok {
		return &handoff.Error{Op: "demo", Name: role, Kind: handoff.Invalid, Err: errors.New("no such role"), Hint: "run handoff demo without --role"}
	}
	return act(&agent{Stage: s, ctx: ctx, name: role})
}

// freshDir makes the first free directory of its kind.
func freshDir(below string) (string, error) {
	for i := 1; ; i++ {
		dir := filepath.Join(below, fmt.Sprintf("handoff-demo-%d", i))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", &handoff.Error{Op: "demo", Name: dir, Kind: handoff.Unavailable, Err: err, Hint: "run it in a directory that can be written"}
		}
		return dir, os.Mkdir(filepath.Join(dir, "src"), 0o777)
	}
}

func text(name string) string {
	b, err := files.ReadFile("files/" + name + ".txt")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

func writeFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

// play runs the four as processes of their own, each under its own run.
func (s Stage) play(ctx context.Context, dir string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	id, err := s.NewID()
	if err != nil {
		return err
	}
	stage := &prefixed{out: s.Out, flush: s.Flush}
	errs := make(chan error, len(Names))
	for _, name := range Names {
		run, err := s.NewID()
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, s.Self, "demo", "--role", name)
		cmd.Dir = dir
		cmd.WaitDelay = time.Second
		cmd.Env = append(slices.Clone(s.Environ), "HANDOFF_WORKSPACE="+dir, "HANDOFF_DIR=", "HANDOFF_SESSION="+id,
			"HANDOFF_RUN="+run, "HANDOFF_AGENT="+name, "HANDOFF_HARNESS=handoff-demo", "HANDOFF_THREAD=", "HANDOFF_TASK=", "HANDOFF_OPERATION=")
		go func() { errs <- stage.run(cmd, name) }()
	}
	var failed error
	for range Names {
		if err := <-errs; err != nil && failed == nil {
			failed = err
			stop() // the others would wait for what no longer comes
		}
	}
	if failed != nil {
		return &handoff.Error{Op: "demo", Name: dir, Kind: handoff.Unavailable, Err: failed, Hint: "handoff list in that directory shows how far it came"}
	}
	return nil
}

// prefixed prints the lines of several processes, each behind its name.
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
