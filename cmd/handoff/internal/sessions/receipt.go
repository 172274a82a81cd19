package sessions

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/handoff/internal/cli"
	"github.com/agent-handoff/handoff/internal/session"
	"github.com/agent-handoff/handoff/workspace"
)

// A receipt is a summary of what a session published.
type receipt struct {
	*run
	session handoff.Session
	took    time.Duration
	made    []handoff.Artifact // active artifacts, oldest first
	found   []string           // expected outputs
	missing []string
}

func newReceipt(ctx context.Context, w *workspace.Workspace, r *run) (receipt, error) {
	s, artifacts, err := w.SessionsAs(r.producer).Read(ctx, r.opened.ID)
	rc := receipt{run: r, session: s, took: r.Now().Sub(s.OpenedAt)}
	for i := len(artifacts) - 1; i >= 0; i-- {
		if artifacts[i].Status == handoff.Active {
			rc.made = append(rc.made, artifacts[i])
		}
	}
	for _, name := range r.expect {
		if session.Delivered(s, rc.made, name) {
			rc.found = append(rc.found, name)
		} else {
			rc.missing = append(rc.missing, name)
		}
	}
	return rc, err
}

// print prints the receipt on standard error; standard output is the child's.
func (rc receipt) print(status, why string) {
	what := "session"
	if rc.session.Parent != "" {
		what = "run"
	}
	if why != "" {
		why = " (" + why + ")"
	}
	fmt.Fprintf(rc.Err, "handoff: %s %s %s after %s%s\n", what, rc.session.ID, status, rc.took.Round(10*time.Millisecond), why)
	for _, a := range rc.made {
		ref := a.ID
		if a.Name != "" {
			ref = a.Namespace + "/" + a.Name
		}
		line := "  " + ref + "  " + a.Path
		if a.Title != "" {
			line += "  " + a.Title
		}
		fmt.Fprintln(rc.Err, cli.OneLine(line))
	}
	for _, name := range rc.found {
		fmt.Fprintf(rc.Err, "  expected %s: found\n", cli.OneLine(name))
	}
	for _, name := range rc.missing {
		fmt.Fprintf(rc.Err, "  expected %s: missing or empty\nhint: run: %s\n", cli.OneLine(name), rc.fix(name))
	}
}

// fix returns the command that delivers a missing output.
func (rc receipt) fix(name string) string {
	isFile := func(file string) bool {
		info, err := os.Stat(file)
		return err == nil && info.Mode().IsRegular() && info.Size() > 0
	}
	if filepath.IsLocal(name) && isFile(filepath.Join(rc.opened.Folder, name)) {
		return fmt.Sprintf("handoff session add %s --type %s --session %s", cli.ShellWord(name), outputType(name), cli.ShellWord(rc.session.ID))
	}
	file := "FILE"
	if isFile(cli.Absolute(rc.Dir, name)) {
		file = cli.ShellWord(name)
	}
	line := fmt.Sprintf("handoff write %s %s --session %s", cli.ShellWord(name), file, cli.ShellWord(rc.opened.Env["HANDOFF_SESSION"]))
	if run := rc.opened.Env["HANDOFF_RUN"]; run != "" {
		line += " --run " + cli.ShellWord(run)
	}
	return line
}

// outputType guesses the type of an output from the name of its file.
func outputType(name string) string {
	switch filepath.Ext(name) {
	case ".md", ".txt", ".html", ".pdf", ".adoc", ".rst":
		return "document"
	case ".json", ".jsonl", ".csv", ".yaml", ".yml", ".xml":
		return "data"
	}
	return "artifact"
}
