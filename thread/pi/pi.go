// Package pi reads the sessions of the pi coding agent. Each is a file with one
// JSON entry per line.
//
// Sessions are in sessions/PROJECT in the home directory of the tool, ~/.pi/agent
// or $PI_CODING_AGENT_DIR. The first entry, the header, contains the ID. The file
// name ends in it too, unless the user chose the name. Since version 2 of the
// format, entries form a tree: each names its parent, and going back adds a branch
// to the same file. The thread is the branch of the last entry. A fork is a file of
// its own, which starts with copies of entries and names their file.
//
// The tool has no subagents. Extensions run them as sessions of their own, or leave
// their messages in the result of the call that started them. The format is described
// by docs/session-format.md of the tool; docs/threads.md lists the facts this package
// relies on.
package pi

import (
	"cmp"
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "pi"
	env  = "PI_CODING_AGENT_DIR"
	ext  = ".jsonl"
)

// Driver returns the driver of pi.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: roots, Resume: []string{name, "--session"},
		Open: func(roots []string) (thread.Provider, error) { return program(roots).Provider(roots), nil },
	}
}

// roots returns the directories of sessions.
func roots(getenv func(string) string, home string) (roots []string) {
	if dir := getenv("PI_CODING_AGENT_SESSION_DIR"); dir != "" {
		roots = append(roots, dir)
	}
	return append(roots, filepath.Join(cmp.Or(getenv(env), filepath.Join(home, ".pi", "agent")), "sessions"))
}

func program(roots []string) engine.Program {
	return engine.Program{
		Name: name, Env: env, Find: find, Head: readHead, HeadLen: 4 << 10, Starts: []byte(`{"type":"session",`),
		Begun: second, Plain: true, Alone: true, Relate: relate, Other: byTime,
		Branches: true, Inside: []string{`"results":[{"agent":`},
		Open: func(_ *thread.Walk, f *engine.Found, t *thread.Thread) { open(roots, f, t) },
	}
}

// artifacts is a directory of published files, which may be transcripts.
const artifacts = "artifacts"

// find finds the sessions in the roots and in the directories of projects. A directory
// with the name of a session beside it has the sessions of its subagents.
func find(_ context.Context, w *thread.Walk, roots []string) (list []*engine.Found, _ error) {
	paths := make([]string, len(roots))
	for i, root := range roots {
		paths[i] = filepath.Clean(root)
	}
	folders := w.Folders(paths, 1, isSession)
	for _, in := range folders {
		base := filepath.Base(in.Path)
		if in.Path != paths[in.Root] && (base == artifacts || owner(folders[in.Root], base) != "") {
			continue
		}
		for _, f := range in.Files {
			list = append(list, found(f.Path, session{}))
		}
		for _, dir := range in.Dirs {
			if path := owner(in, dir); path != "" {
				list = append(list, descend(w, path, maxDepth)...)
			}
		}
	}
	return list, nil
}

func isSession(name string) bool { return strings.HasSuffix(name, ext) }

// owner returns the path of the session after which a directory in a folder is named,
// "" if there is none.
func owner(in thread.Folder, dir string) string {
	for _, f := range in.Files {
		if f.Name == dir+ext {
			return f.Path
		}
	}
	return ""
}

const maxDepth = 8 // of directories of subagents

// descend returns the sessions of the subagents of the session in a file, down to depth.
func descend(w *thread.Walk, path string, depth int) (list []*engine.Found) {
	of := session{head: headOf(w.Head(path, 4<<10))}
	id := cmp.Or(of.id, idOf(path))
	for _, in := range w.Folders([]string{strings.TrimSuffix(path, ext)}, 0, isSession) {
		for _, f := range in.Files {
			list = append(list, found(f.Path, session{owner: id}))
		}
		for _, dir := range in.Dirs {
			if deeper := owner(in, dir); deeper != "" && depth > 0 {
				list = append(list, descend(w, deeper, depth-1)...)
			}
		}
	}
	return list
}

// A session is what is known of a session before it is read.
type session struct {
	owner string // ID of the session whose directory contains it
	head
}

func found(path string, s session) *engine.Found {
	f := &engine.Found{Named: idOf(path), Path: path, Sort: stem(path), Begun: begun(path), Head: s}
	f.Parent = s.owner
	if s.owner != "" {
		f.Alias, f.Proof = stem(path), []string{inDirectory}
	}
	return f
}

const inDirectory = "child session is in the directory named after main thread"

func stem(path string) string { return strings.TrimSuffix(filepath.Base(path), ext) }

// idOf returns the ID at the end of the name of a session's file.
func idOf(path string) string {
	if path == "" {
		return ""
	}
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	name = strings.TrimSuffix(name, ext)
	return thread.LowerUUID(name[strings.LastIndexByte(name, '_')+1:])
}

const second = "2006-01-02T15-04-05"

// begun returns the start in the name of a file, as 2026-05-24T23-39-56, "" if there
// is none.
func begun(path string) string {
	stamp, _, named := strings.Cut(stem(path), "_")
	if !named || len(stamp) < len(second) || stamp[10] != 'T' {
		return ""
	}
	return stamp[:len(second)]
}

// isRun reports whether the name of a file is one that an extension uses for subagents:
// it ends in the ID of a run, which has four parts and is not a UUID.
func isRun(path string) bool {
	end := stem(path)
	end = end[strings.LastIndexByte(end, '_')+1:]
	return len(end) == len("00000000-00000000-00000000-0000") && end[8] == '-' && end[17] == '-' && end[26] == '-' &&
		strings.Count(end, "-") == 3 && strings.Trim(end, "0123456789abcdef-") == ""
}

// A head is the header of a session.
type head struct {
	id, cwd, title string
	from           string   // path of the session whose entries were copied
	parent         string   // ID of the session that started it
	children       []string // IDs of the sessions that it started
	started        time.Time
}

// headOf returns the header in the first bytes of a session, zero if there is none.
func headOf(start jsonl.Value) head {
	for line := range strings.Lines(string(start)) {
		if v := jsonl.Value(line); v.Get("type").Is("session") {
			return parseHead(v)
		}
	}
	return head{}
}

// readHead sets what the header of a session shows.
func readHead(_ *thread.Walk, f *engine.Found, start jsonl.Value) {
	s := session{owner: f.Head.(session).owner, head: headOf(start)}
	f.ID, f.Head, f.Parent = s.id, s, s.owner
	if s.parent != "" {
		f.Parent, f.Proof = s.parent, []string{"child session header names main thread as its parent"}
		if s.owner == s.parent {
			f.Proof = append(f.Proof, inDirectory)
		}
	}
	if isRun(f.Path) && f.Parent == "" {
		f.Parent, f.Hidden = idOf(s.from), true
	}
	if f.Start > 0 {
		f.Named = ""
	}
}

func parseHead(v jsonl.Value) (h head) {
	for c := v.Members(); c.Next(); {
		switch string(c.Name()) {
		case "id":
			h.id = thread.LowerUUID(c.Value().Text())
		case "cwd":
			h.cwd = c.Value().Text()
		case "title", "name":
			h.title = c.Value().Text()
		case "timestamp":
			h.started = c.Value().Time()
		case "parentSession", "branchedFrom":
			h.from = c.Value().Text()
		default:
			h.relation(c.Key(), c.Value())
		}
	}
	if h.parent == h.id {
		h.parent = ""
	}
	return h
}

// relation reads a member that extensions use for parents and children. Each uses
// other names.
func (h *head) relation(name string, v jsonl.Value) {
	switch strings.ToLower(joined.Replace(name)) {
	case "parentsessionid", "parentthreadid", "mainsessionid", "rootsessionid", "parentid":
		if id := thread.LowerUUID(v.Text()); thread.IsUUID(id) {
			h.parent = id
		}
	case "childsessionid", "childsessionids", "childthreadid", "childthreadids", "subsessionid", "subsessionids",
		"subagentsessionid", "subagentsessionids", "subagentthreadids":
		if id := thread.LowerUUID(v.Text()); id != "" {
			h.children = append(h.children, id)
		}
		for c := v.Elements(); c.Next(); {
			if id := thread.LowerUUID(c.Value().Text()); id != "" {
				h.children = append(h.children, id)
			}
		}
	}
}

var joined = strings.NewReplacer("_", "", "-", "")

// open sets the metadata of a session from its header.
func open(roots []string, f *engine.Found, t *thread.Thread) {
	s := f.Head.(session)
	t.Title, t.Cwd, t.Started = s.title, s.cwd, s.started
	if from := idOf(s.from); from != t.Parent {
		t.ForkedFrom = from
	}
	switch named := idOf(f.Path); {
	case s.id == "":
		t.Warn("the session has no ID; it is taken from the file name")
	case thread.IsUUID(named) && named != s.id && f.Start == 0:
		t.WarnID(named, s.id)
	}
	t.Reader = reader(roots, f)
}

// relate adds the proof of a run, which only its name and header show.
func relate(main *thread.Thread, a *thread.Agent, child *thread.Thread) {
	f := child.Reader.(*engine.Reader).Found()
	if len(a.Evidence) == 0 && f.Parent == main.ID {
		a.Evidence = append(a.Evidence, "child session is a run of main thread, by its name and header")
	}
}

// byTime finds a subagent whose messages are in the session of its parent by the ID of
// its own session, which is in its records and in no file: the time in the ID is that
// of its call.
func byTime(ctx context.Context, p *engine.Provider, all []*engine.Found, id string) (*thread.Thread, error) {
	at, ok := timeOf(id)
	if !ok {
		return nil, nil
	}
	w := thread.NewWalk(ctx)
	var found []*thread.Thread
	for _, f := range all {
		if f.Begun > at.Format(second) || w.StatFile(f.Path).Modified.Before(at) {
			continue
		}
		main, err := p.OpenFound(w, f)
		if err != nil {
			return nil, err
		}
		agents, err := p.Agents(ctx, main)
		if err != nil {
			return nil, err
		}
		for _, m := range main.Reader.(*engine.Reader).Mentions() {
			for _, a := range agents {
				if m.Span.Len > 0 && a.ID == m.ID && !m.Called.After(at) && !m.State.At.Before(at) {
					found = append(found, engine.AsThread(main, a))
				}
			}
		}
	}
	if len(found) != 1 {
		return nil, ctx.Err()
	}
	found[0].WarnFound("no record has the ID " + id + ": it is the subagent that ran at the time in the ID")
	return found[0], nil
}

// timeOf returns the time in a UUID of version 7.
func timeOf(id string) (at time.Time, ok bool) {
	if !thread.IsUUID(id) || id[14] != '7' {
		return at, false
	}
	ms := int64(0)
	for _, c := range id[:8] + id[9:13] {
		ms = ms<<4 | int64(strings.IndexRune("0123456789abcdef", c))
	}
	return time.UnixMilli(ms).UTC(), true
}
