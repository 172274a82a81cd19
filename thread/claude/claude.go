// Package claude reads the threads of Claude Code. Each is a transcript: a file
// with one JSON record per line.
//
// Transcripts are in projects/FOLDER in a home directory of the tool, ~/.claude,
// ~/.config/claude or those in $CLAUDE_CONFIG_DIR. A file is named after its
// session, or agent-ID for a subagent. Subagents are beside their session or, in
// newer versions, in a directory named after it. FOLDER encodes the working
// directory with loss, so it is never decoded. The tool removes transcripts after
// some weeks; other files still name a removed one.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in published transcripts of versions 2.0.72 to 2.1.332.
package claude

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "claude"
	env  = "CLAUDE_CONFIG_DIR" // home directories, separated by commas
	home = "HOME"              // the variable of forks, which have none of their own

	plain    = ".jsonl"
	metaExt  = ".meta.json"
	prefix   = "agent-"
	agentDir = "subagents"
	desktop  = "local-agent-mode-sessions"
)

// homes are the home directories of the tool, relative to the user's. The last
// three contain those of the desktop app.
var homes = []string{".config/claude", ".claude", "Library/Application Support/Claude", "AppData/Roaming/Claude",
	".config/Claude"}

// Driver returns the driver of Claude Code.
func Driver() thread.Driver {
	return thread.Driver{Name: name, Env: env, ID: thread.UUIDs, Roots: roots, Beside: beside, Open: opener(name, env),
		Resume: []string{name, "--resume"}}
}

// beside has the role of a subagent.
var beside = []string{"*" + metaExt}

func roots(getenv func(string) string, home string) []string {
	var dirs []string
	for dir := range strings.SplitSeq(getenv(env), ",") {
		if dir = strings.TrimSpace(dir); dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if dirs != nil {
		return dirs
	}
	for _, dir := range homes {
		dirs = append(dirs, filepath.Join(home, filepath.FromSlash(dir)))
	}
	return dirs
}

// A provider is the transcripts of a tool.
type provider struct {
	*engine.Provider
	index index
}

// opener returns the Driver.Open of a tool.
func opener(name, env string) func([]string) (thread.Provider, error) {
	return func(roots []string) (thread.Provider, error) {
		p := &provider{index: index{folders: map[string]*heads{}}}
		program := engine.Program{Name: name, Env: env, Head: readHead, Open: p.open, Relate: relate, Other: removed,
			Newest: true, Recent: true, Plain: true, ByStart: true, Alone: true, Nested: true, Named: true,
			Inside: inside}
		for _, at := range []string{"", desktop + "/local_*/.claude/", desktop + "/*/local_*/.claude/",
			desktop + "/*/*/local_*/.claude/", desktop + "/*/*/*/local_*/.claude/"} {
			program.Stores = append(program.Stores, store(at), nested(at))
		}
		p.Provider = program.Provider(distinct(roots))
		return p, nil
	}
}

// distinct returns the roots without those whose transcripts are in an earlier one.
func distinct(roots []string) (list []string) {
	seen := map[string]bool{}
	for _, root := range roots {
		real, err := filepath.EvalSymlinks(filepath.Join(root, "projects"))
		if err != nil || !seen[real] {
			list = append(list, root)
		}
		seen[real] = true
	}
	return list
}

// store returns the store of sessions, and of subagents beside them, in a home directory.
func store(at string) engine.Store {
	dirs := at + "projects/"
	return engine.Store{Pattern: dirs + "*/{id}" + plain, ID: idOf, Set: describe, Beside: metaExt,
		Narrow: func(q engine.Query) []string {
			folder := filepath.Base(filepath.Dir(q.Beside))
			switch {
			case thread.IsUUID(q.ID):
				return []string{dirs + "*/{id}" + plain}
			case q.ID != "":
				return []string{dirs + "*/{id}" + plain, dirs + "*/" + prefix + "{id}" + plain}
			case q.Beside != "" && isPart(folder):
				return []string{dirs + folder + "/" + prefix + "{id}" + plain}
			case q.Parent != "":
				return []string{}
			}
			return nil
		}}
}

// nested returns the store of the subagents in the directories of sessions.
func nested(at string) engine.Store {
	agents := func(session, dirs string) string {
		return at + "projects/*/" + session + "/" + agentDir + "/" + dirs + prefix + "{id}" + plain
	}
	return engine.Store{Pattern: agents("{parent}", "**/"), ID: idOf, Set: describe, Beside: metaExt,
		Narrow: func(q engine.Query) []string {
			switch {
			case q.Main, thread.IsUUID(q.ID):
				return []string{} // a session
			case q.ID != "":
				return []string{agents("{parent}", "")} // those of workflows are found by looking at all
			case isPart(q.Parent):
				return []string{agents(q.Parent, "**/")}
			}
			return nil
		}}
}

// isPart reports whether a name can be a part of a pattern that stands for itself.
func isPart(name string) bool {
	return name != "" && name != "." && filepath.IsLocal(name) && !strings.ContainsAny(name, "/\\\x00*{}")
}

// idOf returns the ID in the name of a transcript without its extension.
func idOf(stem string) (id string, ok bool) {
	id = strings.TrimPrefix(stem, prefix)
	return thread.LowerUUID(id), id != ""
}

func isAgent(path string) bool { return strings.HasPrefix(filepath.Base(path), prefix) }

// describe sets what the path of a transcript shows.
func describe(f *engine.Found) {
	if !isAgent(f.Path) {
		return
	}
	f.Hidden, f.Whole = true, true
	f.Named = f.ID
	if f.Parent != "" {
		return
	}
	if at := agentsOf(filepath.Dir(f.Path)); at != "" {
		f.Parent = thread.LowerUUID(filepath.Base(filepath.Dir(at)))
	}
}

// agentsOf returns the directory of all subagents of a session, in which dir is, "" if
// there is none.
func agentsOf(dir string) string {
	for filepath.Base(dir) != agentDir {
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
	return dir
}

// Thread implements thread.Provider. The parent of a subagent is the one that started it.
func (p *provider) Thread(ctx context.Context, id string) (*thread.Thread, error) {
	t, err := p.Provider.Thread(ctx, strings.TrimPrefix(id, prefix))
	if err != nil {
		return nil, err
	}
	if f := t.Reader.(*engine.Reader).Found(); f.Deeper {
		spawner, err := p.spawner(ctx, f)
		if err != nil {
			return nil, err
		}
		if spawner != "" {
			t.Parent = spawner
		}
	}
	return t, ctx.Err()
}

// spawner returns the ID of the subagent of the same session that started one, "" if
// there is none.
func (p *provider) spawner(ctx context.Context, f *engine.Found) (string, error) {
	w := thread.NewWalk(ctx)
	for _, other := range p.Transcripts(ctx, w, engine.Query{Parent: f.Parent}) {
		if other.Path == f.Path || !engine.Contains(other.Path, f.ID) {
			continue
		}
		t, err := p.OpenFound(w, other)
		if err == nil {
			err = t.Load(ctx)
		}
		if err != nil {
			return "", err
		}
		for _, m := range t.Reader.(*engine.Reader).Mentions() {
			if m.ID == f.ID && !m.Maybe {
				return t.ID, nil
			}
		}
	}
	return "", nil
}

// callTail is how much of the end of a transcript is searched for a call that was
// just made.
const callTail = 256 << 10

// AgentOfCall returns the ID of the subagent of a session that made a tool call,
// "" for the main agent. It is not known before the agent's transcript has the
// call, which Claude Code 2.1 writes 20 to 120 ms after it makes it. The transcript
// of a subagent may not exist before its first calls.
func (p *provider) AgentOfCall(ctx context.Context, session, call string) (agent string, known bool) {
	if !thread.IsUUID(session) {
		return "", true
	}
	w := thread.NewWalk(ctx)
	files := slices.Concat(p.Transcripts(ctx, w, engine.Query{ID: session}),
		p.Transcripts(ctx, w, engine.Query{Parent: session}))
	if len(files) == 0 {
		return "", true // it has no transcripts
	}
	slices.SortStableFunc(files, func(a, b *engine.Found) int {
		return w.StatFile(b.Path).Modified.Compare(w.StatFile(a.Path).Modified)
	})
	quoted := []byte(`"` + call + `"`)
	for _, f := range files {
		switch {
		case !bytes.Contains(w.Tail(f.Path, callTail), quoted):
		case isAgent(f.Path):
			return f.ID, true
		default:
			return "", true
		}
	}
	return "", false
}
