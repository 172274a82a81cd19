package doctor

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/setup"
)

// findPrograms looks at the entries of handoff in the files of agent programs.
func findPrograms(_ context.Context, m *Machine, f *findings) {
	if !filepath.IsAbs(m.Target.Home) {
		return
	}
	j, err := setup.OpenJournal(m.State)
	if err != nil {
		f.fail(err)
		j = &setup.Journal{}
	}
	onPath := func(program string) bool { return m.LookPath(program) != "" }
	names := setup.Detect(m.Target, onPath)
	places := []setup.Target{m.Target}
	if project := m.Target; project.Root != "" {
		project.Scope = setup.Project
		places = append(places, project)
	}
	any := false
	for _, t := range places {
		programs, err := setup.Plan(t, j, names)
		if err != nil {
			f.fail(err)
			continue
		}
		for _, p := range programs {
			if t.Scope == setup.User || j.Has(p.Name, t) {
				any = f.program(t, p, j.Has(p.Name, t)) || any
			}
		}
	}
	if !any {
		f.warn("handoff is set up in no agent program", handoff.Suggest("set it up", handoff.ActionSetUp))
	}
	f.calls(setup.Statuses(m.Target, m.State, m.Dir, onPath))
}

// program looks at what setting up a program would change now, and reports whether
// handoff is set up in it. recorded says that init has done so.
func (f *findings) program(t setup.Target, p setup.Program, recorded bool) bool {
	if p.Err != nil {
		f.fail(p.Err)
		return recorded
	}
	again := handoff.Suggest("write it again", handoff.ActionSetUpProgram, p.Name)
	if t.Scope == setup.Project {
		again.Action = handoff.ActionSetUpProject
	}
	var missing []string
	for _, e := range p.Edits {
		switch {
		case e.Skipped != "":
			f.warn(e.File+": "+e.Skipped, handoff.Advice(
				"move it away and set up "+p.Name+" again, unless you need it"))
		case e.Changed():
			missing = append(missing, e.File)
		}
	}
	if recorded && len(missing) > 0 {
		f.problem(p.Name+" has no entry of this handoff in "+strings.Join(missing, ", ")+
			": it was removed, or calls another file", again)
	}
	return recorded || len(missing) == 0
}

// calls looks at the calls that programs made.
func (f *findings) calls(list []setup.Status) {
	for _, s := range list {
		if !s.Registered && !s.Installed {
			continue
		}
		if !s.LastFailure.IsZero() && !s.LastFailure.Before(s.LastHook) {
			f.problem("the last hook of "+s.Client+" failed: "+s.Failure, handoff.Hint{})
		}
		if s.Registered && s.Trusted == "no" && slices.Contains([]string{"claude", "codex", "gemini"}, s.Client) {
			f.warn(s.Client+" does not trust this directory; it may not start the hooks and servers of a project",
				handoff.Advice("start "+s.Client+" here and accept the directory"))
		}
	}
}
