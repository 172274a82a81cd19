package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/workspace"
)

// clockSlack is how far clocks of several machines may differ without a finding.
const clockSlack = 5 * time.Minute

// findWorkspace looks at the settings, the runtime directory and the log of the
// workspace. One that was never created is not a finding.
func findWorkspace(ctx context.Context, m *Machine, f *findings) {
	w, err := workspace.Open(m.Dir, m.Options)
	if err != nil {
		f.fail(err)
		return
	}
	defer w.Close()
	for _, s := range w.IgnoredSettings() {
		f.warn(s.IgnoredNote())
	}
	findRuntime(w, f)
	findLog(ctx, m, w, f)
}

// findRuntime looks at the runtime directory.
func findRuntime(w *workspace.Workspace, f *findings) {
	dir := w.Store().Runtime()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err := w.Store().Writable(); err != nil {
		f.fail(err)
		return
	}
	switch err := probe(dir); {
	case err == nil:
	case noLinks(err):
		f.problem("the file system of "+dir+" has no hard links", handoff.Advice(
			"set HANDOFF_DIR to a directory on a file system with hard links"))
	default:
		f.problem(dir+" can't be written: "+durable.Reason(err).Error(), handoff.UnwritableHint(dir, err))
	}
}

// findLog looks at the log, its queue and the times of its records.
func findLog(ctx context.Context, m *Machine, w *workspace.Workspace, f *findings) {
	status, err := w.Store().Status(ctx)
	if err != nil {
		f.fail(err)
		return
	}
	if status.Unavailable != "" {
		f.problem("the log can't be reached: "+status.Unavailable, handoff.Hint{})
	}
	if n := len(status.Queued); n > 0 {
		f.warn(fmt.Sprintf("%d records are on this machine only, the oldest of %s", n,
			status.Queued[0].CreatedAt.Format(time.RFC3339)), handoff.Suggest("send them", handoff.ActionSend))
	}
	if n := len(status.Refused); n > 0 {
		f.problem(fmt.Sprintf("the log refused %d records of this machine", n),
			handoff.Suggest("see why", handoff.ActionLogStatus))
	}
	newest, err := w.List(ctx, workspace.ListOptions{Filter: workspace.Filter{IncludeInactive: true}, Limit: 1})
	if err != nil {
		f.fail(err)
		return
	}
	for _, a := range newest.Artifacts {
		if ahead := a.CreatedAt.Sub(m.Options.Now()); ahead > clockSlack {
			f.warn(fmt.Sprintf("the newest artifact was published %s in the future: a clock is wrong, "+
				"this one or that of the machine that published", ahead.Round(time.Minute)), handoff.Advice("compare the clocks"))
		}
	}
}

// findEnvironment looks at the session that the environment names.
func findEnvironment(ctx context.Context, m *Machine, f *findings) {
	id := m.Getenv("HANDOFF_SESSION")
	if id == "" {
		return
	}
	w, err := workspace.Open(m.Dir, m.Options)
	if err != nil {
		return // findWorkspace has reported it
	}
	defer w.Close()
	for _, text := range w.Caller().Warnings {
		f.warn(text, handoff.Hint{})
	}
	s, err := w.Hub().Session(ctx, id)
	switch {
	case errors.Is(err, handoff.NotFound):
		f.warn("HANDOFF_SESSION names a session that this workspace does not have: "+id,
			handoff.Advice("unset HANDOFF_SESSION"))
	case err == nil && s.Closed != 0:
		f.warn("HANDOFF_SESSION names a session that has ended; what is published is marked late: "+id,
			handoff.Advice("unset HANDOFF_SESSION"))
	}
}
