package claude

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

// removed returns the error for a session whose transcript was removed: other files still
// name it.
func removed(ctx context.Context, p *engine.Provider, all []*engine.Found, id string) (*thread.Thread, error) {
	if !thread.IsUUID(id) {
		return nil, nil
	}
	trace, subagents := "", []string(nil)
	w := thread.NewWalk(ctx)
	for _, f := range all {
		m := meta{}
		if f.Parent == "" && isAgent(f.Path) {
			m, _ = readMeta(f)
		}
		switch {
		case f.Parent == id:
			session := filepath.Dir(agentsOf(filepath.Dir(f.Path)))
			trace = cmp.Or(trace, "its directory is still in "+filepath.Dir(session))
		case m.session == id:
			trace = cmp.Or(trace, "a subagent of it is still in "+filepath.Dir(f.Path))
		default:
			continue
		}
		subagents = append(subagents, p.Name+"/"+f.Named)
	}
	for _, root := range p.Roots() {
		trace = cmp.Or(trace, named(w, root, id))
	}
	if trace == "" {
		return nil, ctx.Err()
	}
	hint := "the tool removes transcripts after the number of days in its setting cleanupPeriodDays"
	if len(subagents) > 0 {
		slices.Sort(subagents)
		hint = "these subagents of it still exist: " + strings.Join(slices.Compact(subagents), ", ")
	}
	return nil, handoff.E("thread", p.Name+"/"+id, handoff.Unavailable,
		errors.New("the transcript was removed: "+trace), handoff.Advice(hint))
}

// named returns what names a session in a home directory, "" if nothing does.
func named(w *thread.Walk, root, id string) string {
	for _, e := range w.ReadDir(filepath.Join(root, "projects")) {
		dir := filepath.Join(root, "projects", e.Name())
		if info, err := os.Stat(filepath.Join(dir, id)); err == nil && info.IsDir() {
			return "its directory is still in " + dir
		}
		if index := filepath.Join(dir, "sessions-index.json"); engine.Contains(index, id) {
			return index + " names it"
		}
	}
	for _, kept := range []string{"file-history", "session-env", "tasks"} {
		if _, err := os.Stat(filepath.Join(root, kept, id)); err == nil {
			return filepath.Join(root, kept) + " has files of it"
		}
	}
	if history := filepath.Join(root, "history.jsonl"); engine.Contains(history, id) {
		return history + " names it"
	}
	return ""
}
