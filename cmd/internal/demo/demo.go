// Package demo runs four agents that share files.
//
// An architect, a builder, a reviewer and a lead, each a process of its own, fix
// a small shell script, whose tests are really run. No agent knows where the
// others' files are: each waits for the artifacts that it needs, reads them, and
// publishes its result, with the commands that any agent would use.
package demo

import (
	"bufio"
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/lifecycle"
)

//go:embed files/*.txt
var files embed.FS

// A Stage is where the demo runs, and everything that it takes from outside.
type Stage struct {
	Dir     string // where the demo creates its directory; for a role, that of the agent
	Log     string // the location of a log on another machine: each agent then has a directory of its own
	Program string // path of handoff
	Name    string // the name by which the user called it
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
	if err := s.checkLog(ctx); err != nil {
		return err
	}
	dir, err := s.freshDir()
	if err != nil {
		return handoff.E("demo", dir, handoff.Unavailable, err, handoff.Advice("run it in a writable directory"))
	}
	where := "No agent knows where the others' files are."
	if s.Log != "" {
		where = "Each agent has a directory of its own, as on a machine of its own, and they share\none log: " +
			redacted(s.Log) + "."
	}
	fmt.Fprintf(s.Out, "Four agents fix a small program in %s.\n%s Each line after a $ is a command\nthat the agent "+
		"ran.\n\n", dir, where)
	id, err := lifecycle.NewID(s.Rand)
	if err == nil {
		err = s.play(ctx, dir, id)
	}
	if err != nil {
		return handoff.E("demo", dir, handoff.Unavailable, err,
			handoff.Suggest("see what was published before the failure", handoff.ActionList))
	}
	return s.receipt(ctx, dir, id, start)
}

// checkLog returns an error if the agents could not use the log.
func (s Stage) checkLog(ctx context.Context) error {
	if s.Log == "" {
		return nil
	}
	cmd := exec.CommandContext(ctx, s.Program, "list", "--limit", "1")
	cmd.Dir, cmd.Env = s.Dir, s.environ(s.Dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		reason := strings.TrimPrefix(strings.TrimSpace(stderr.String()), s.Name+": ")
		if _, rest, found := strings.Cut(reason, "\n"+s.Name+": "); found { // after a warning
			reason = rest
		}
		reason, _, _ = strings.Cut(reason, "\n")
		kind := handoff.Unavailable
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 2 { // a usage error
			kind = handoff.Invalid
		}
		return handoff.E("demo", redacted(s.Log), kind, errors.New(cmp.Or(reason, err.Error())),
			handoff.Advice("name a log that can be read and written, such as git:REMOTE"))
	}
	return nil
}

// freshDir creates the first unused directory of the demo, with the program to fix in
// the directory of each agent.
func (s Stage) freshDir() (string, error) {
	for i := 1; ; i++ {
		dir := filepath.Join(s.Dir, fmt.Sprintf("handoff-demo-%d", i))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		for _, agent := range names {
			for _, name := range []string{"slug.sh", "slug_test.sh"} {
				if err == nil {
					err = writeFile(filepath.Join(s.dirOf(dir, agent), "src", name), embedded(name))
				}
			}
		}
		return dir, err
	}
}

// dirOf returns the directory that an agent works in.
func (s Stage) dirOf(dir, agent string) string {
	if s.Log == "" {
		return dir
	}
	return filepath.Join(dir, agent)
}

// environ returns the environment of a command in a directory.
func (s Stage) environ(dir string, more ...string) []string {
	env := append(slices.Clip(s.Environ), "HANDOFF_WORKSPACE="+dir, "HANDOFF_DIR=")
	if s.Log != "" {
		env = append(env, "HANDOFF_LOG="+s.Log)
	}
	return append(env, more...)
}

// redacted returns a location without user name and password.
func redacted(location string) string {
	if u, err := url.Parse(location); err == nil {
		u.User = nil
		return u.String()
	}
	return "(not a URL)"
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
func (s Stage) play(ctx context.Context, dir, id string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var mu sync.Mutex
	errs := make(chan error, len(names))
	for _, name := range names {
		run, err := lifecycle.NewID(s.Rand)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, s.Program, "demo", "--role", name, "--log", s.Log)
		cmd.Dir = s.dirOf(dir, name)
		cmd.WaitDelay = time.Second
		cmd.Env = s.environ(cmd.Dir, "HANDOFF_SESSION="+id, "HANDOFF_RUN="+run, "HANDOFF_AGENT="+name,
			"HANDOFF_HARNESS=handoff-demo", "HANDOFF_THREAD=", "HANDOFF_TASK=", "HANDOFF_OPERATION=")
		go func() {
			errs <- lines(cmd, func(line string) {
				mu.Lock()
				defer mu.Unlock()
				fmt.Fprintf(s.Out, "%-9s │ %s\n", name, line)
				s.Flush()
			})
		}()
	}
	var failed error
	for range names {
		if err := <-errs; err != nil && failed == nil {
			failed = err
			stop() // the others would wait for an artifact that is never published
		}
	}
	return failed
}

// lines runs a command and calls print with each line of its output.
func lines(cmd *exec.Cmd, print func(string)) error {
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	last := ""
	for scanner := bufio.NewScanner(pipe); scanner.Scan(); {
		last = scanner.Text()
		print(last)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, last)
	}
	return nil
}

// receipt prints what the agents published, and the lineage of the summary.
func (s Stage) receipt(ctx context.Context, dir, id string, start time.Time) error {
	dir = s.dirOf(dir, "lead")
	run := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, s.Program, args...)
		cmd.Dir, cmd.Env = dir, s.environ(dir, "HANDOFF_SESSION=", "HANDOFF_RUN=")
		return cmd.Output()
	}
	answer, err := run("list", "--all", "--limit", "0", "--session", id, "--json")
	if err != nil {
		return err
	}
	var page handoff.ArtifactPage
	if err := json.Unmarshal(answer, &page); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\nreceipt: %d artifacts by %d agents in %.1fs\n", len(page.Artifacts), len(names),
		s.Now().Sub(start).Seconds())
	for _, a := range page.Artifacts {
		fmt.Fprintf(s.Out, "  %-12s  %-9s  %-10s  %s\n", a.Channel, a.Producer.Agent, a.Status, a.Title)
	}
	summary := page.Artifacts[0].ID
	lineage, err := run("show", summary, "--lineage")
	if err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "\nwhat the summary was made from:\n%s", lineage)
	rel, err := filepath.Rel(s.Dir, dir)
	if err != nil {
		rel = dir
	}
	if s.Log != "" {
		rel += " && export HANDOFF_LOG='" + redacted(s.Log) + "'"
	}
	fmt.Fprintf(s.Out, "\ntry next: cd %s && %s show %s --lineage --format mermaid\n", rel, s.Name, summary)
	fmt.Fprintf(s.Out, "          %s read %s prints the summary for the next agent\n", s.Name, summary)
	fmt.Fprintf(s.Out, "          %s serve --open shows it in a browser\n", s.Name)
	if _, err := exec.LookPath(s.Name); err != nil {
		fmt.Fprintf(s.Out, "%[1]s is not on your PATH; to install it, run: go install ./cmd/%[1]s\n", s.Name)
	}
	return nil
}
