package main

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
	"strings"
	"sync"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/lineage"
	"github.com/agent-handoff/handoff/local"
	"github.com/agent-handoff/handoff/session"
	"github.com/spf13/cobra"
)

//go:embed demo/*.txt
var demoFiles embed.FS

// demoTree are the files of the little program that the demo's agents mend.
var demoTree = []string{"go.mod", "slug.go", "slug_test.go"}

func demoCommand(a *app) *cobra.Command {
	var role string
	c := &cobra.Command{
		Use:     "demo",
		Short:   "Watch four agents hand real files on, in a fresh directory",
		GroupID: care,
		Long: `Demo starts four processes, an architect, a builder, a reviewer and a lead, in
a fresh directory below the current one. They mend a small Go program. None is
told where the others' files are: each waits for what it needs, reads only that,
and publishes what it made. A patch is replaced after its tests failed, and two
revisions of the design, made at the same time, are settled by the lead.

Every line after a $ is a command that was really run.`,
		Example: "  handoff demo",
		Args:    exactly(0, ""),
	}
	c.Flags().StringVar(&role, "role", "", "")
	c.Flags().MarkHidden("role")
	c.RunE = func(c *cobra.Command, args []string) error {
		if role == "" {
			return a.demo(c.Context())
		}
		play, ok := demoRoles[role]
		if !ok {
			return invalid("demo", role, "no such role", "run handoff demo without --role")
		}
		return play(&demoAgent{app: a, ctx: c.Context(), name: role})
	}
	return c
}

// demo sets the scene, lets the four play, and shows what came of it.
func (a *app) demo(ctx context.Context) error {
	start := a.now()
	dir, err := demoDir(a.dir)
	if err != nil {
		return err
	}
	for _, name := range demoTree {
		if err := writeDemoFile(filepath.Join(dir, "src", name), demoText(name)); err != nil {
			return err
		}
	}
	fmt.Fprintf(a.out, "four agents share %s\n\n", dir)
	if err := a.playDemo(ctx, dir); err != nil {
		return err
	}
	return a.demoReceipt(ctx, dir, start)
}

// demoDir makes the first free directory of its kind.
func demoDir(below string) (string, error) {
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

func demoText(name string) string {
	b, err := demoFiles.ReadFile("demo/" + name + ".txt")
	if err != nil {
		panic(err) // it is embedded
	}
	return string(b)
}

func writeDemoFile(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

// playDemo runs the four as processes of their own, each under its own run.
func (a *app) playDemo(ctx context.Context, dir string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	id, err := session.NewID(a.rand)
	if err != nil {
		return err
	}
	stage := &prefixed{out: a.out, flush: a.flush}
	errs := make(chan error, len(demoNames))
	for _, name := range demoNames {
		run, err := session.NewID(a.rand)
		if err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, a.self, "demo", "--role", name)
		cmd.Dir = dir
		cmd.WaitDelay = time.Second
		cmd.Env = append(os.Environ(), "HANDOFF_WORKSPACE="+dir, "HANDOFF_DIR=", "HANDOFF_SESSION="+id,
			"HANDOFF_RUN="+run, "HANDOFF_AGENT="+name, "HANDOFF_HARNESS=handoff-demo", "HANDOFF_THREAD=", "HANDOFF_TASK=", "HANDOFF_OPERATION=")
		go func() { errs <- stage.run(cmd, name) }()
	}
	var failed error
	for range demoNames {
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

// demoReceipt shows what the four made, and what it was made from.
func (a *app) demoReceipt(ctx context.Context, dir string, start time.Time) error {
	w, err := local.Open(dir, local.Options{Getenv: func(string) string { return "" }, Now: a.now, Rand: a.rand})
	if err != nil {
		return err
	}
	defer w.Close()
	page, err := w.Artifacts(ctx, handoff.ArtifactQuery{Hidden: true})
	if err != nil {
		return err
	}
	last := page.Artifacts[0]
	fmt.Fprintf(a.out, "\nreceipt: %d artifacts by %d agents in %.1fs\n", len(page.Artifacts), len(demoNames), a.now().Sub(start).Seconds())
	a.table(page.Artifacts, true)
	g, err := lineage.Of(ctx, w, last.ID)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "\nwhat the summary was made from:\n%s", g.Tree(last.ID))
	rel, err := filepath.Rel(a.dir, dir)
	if err != nil {
		rel = dir
	}
	fmt.Fprintf(a.out, "\ntry next: cd %s && handoff show %s --lineage --format mermaid\n", rel, last.ID)
	fmt.Fprintf(a.out, "          %s is the file that the next agent would read\n", strings.TrimPrefix(last.Path, "./"))
	return nil
}
