package pi

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

const ext = ".jsonl"

// A session is one thread's part of a file, as name and head tell it. A file
// holds one, but where files were put together, several.
type session struct {
	dir   string
	name  string // of the file
	owner string // the id of the session in whose folder it lies
	start int64  // where it starts in the file
	head  head   // zero until it is read
}

func (s session) path() string { return filepath.Join(s.dir, s.name) }

func (s session) stem() string { return strings.TrimSuffix(s.name, ext) }

func (s session) id() string { return cmp.Or(s.head.id, idOf(s.name)) }

// run reports whether its name ends as an extension has what a subagent writes
// end: in the run's id, and three more parts, which make no UUID.
func (s session) run() bool {
	stem := s.stem()
	end := stem[strings.LastIndexByte(stem, '_')+1:]
	return len(end) == len("00000000-00000000-00000000-0000") && end[8] == '-' && end[17] == '-' && end[26] == '-' &&
		strings.Count(end, "-") == 3 && strings.Trim(end, "0123456789abcdef-") == ""
}

// parent is the id of the thread whose subagent it is, as far as it says so.
func (s session) parent() string {
	switch {
	case s.head.parent != "":
		return s.head.parent
	case s.owner != "":
		return s.owner
	case s.run():
		return idOf(s.head.from)
	}
	return ""
}

func (s session) subagent() bool { return s.parent() != "" || s.run() }

// idOf is the id in which the name of a session's file ends.
func idOf(path string) string {
	if path == "" {
		return ""
	}
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	name = strings.TrimSuffix(name, ext)
	id := name[strings.LastIndexByte(name, '_')+1:]
	if thread.IsUUID(id) {
		return strings.ToLower(id)
	}
	return id
}

// begun is when it was begun, as 2026-05-24T23-39-56, if its name says so.
func (s session) begun() string {
	stamp, _, named := strings.Cut(s.stem(), "_")
	if !named || len(stamp) < len(second) || stamp[10] != 'T' {
		return ""
	}
	return stamp[:len(second)]
}

const second = "2006-01-02T15-04-05"

// A tree reads folders and the heads of sessions.
type tree struct{ *thread.Walk }

func newTree(ctx context.Context) tree { return tree{thread.NewWalk(ctx)} }

// folder returns the session files in dir and the names of the folders there.
func (t tree) folder(dir string) (files []session, folders []string) {
	entries := t.Folder(dir)
	files = make([]session, 0, len(entries))
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir():
			folders = append(folders, name)
		case strings.HasSuffix(name, ext) && (e.Type().IsRegular() || thread.Regular(filepath.Join(dir, name), e.Type())):
			files = append(files, session{dir: dir, name: name})
		}
	}
	return files, folders
}

// artifacts is a folder of what agents publish, transcripts of others too.
const artifacts = "artifacts"

// all returns the sessions that lie in a root or in a project's folder, and the
// folders of those that have one: subagents' sessions lie there. What else lies
// deeper is no session.
func (p *provider) all(t tree) (files []session, owners []session) {
	look := func(dir string) (projects []string) {
		here, below := t.folder(dir)
		files = append(files, here...)
		for _, name := range below {
			i := slices.IndexFunc(here, func(s session) bool { return s.stem() == name })
			switch {
			case i >= 0:
				owners = append(owners, here[i])
			case name != artifacts:
				projects = append(projects, filepath.Join(dir, name))
			}
		}
		return projects
	}
	for _, root := range p.roots {
		for _, project := range look(root) {
			look(project)
		}
	}
	return files, owners
}

// below returns the sessions in the folder of s, and those in theirs.
func (t tree) below(s session) []session {
	const deepest = 8
	return t.descend(s, deepest)
}

func (t tree) descend(s session, depth int) (list []session) {
	dir := strings.TrimSuffix(s.path(), ext)
	files, folders := t.folder(dir)
	for _, f := range files {
		f.owner = s.id()
		f.head = t.head(f)
		list = append(list, f)
		if depth > 0 && slices.Contains(folders, f.stem()) {
			list = append(list, t.descend(f, depth-1)...)
		}
	}
	return list
}

// locate finds the copies of a thread: by name, else by the heads of all
// sessions, else of those in folders of others, and at last within files.
func (p *provider) locate(t tree, id string) (found []session) {
	files, owners := p.all(t)
	for _, s := range files {
		if idOf(s.name) == id {
			s.head = t.head(s)
			found = append(found, s)
		}
	}
	headed := func(s session) []session {
		s.head = t.head(s)
		return []session{s}
	}
	nested := func(s session) []session { return t.below(headed(s)[0]) }
	for _, look := range []struct {
		in   []session
		open func(session) []session
	}{{files, headed}, {owners, nested}, {files, t.further}} {
		for i := 0; i < len(look.in) && found == nil; i++ {
			for _, s := range look.open(look.in[i]) {
				if s.id() == id {
					found = append(found, s)
				}
			}
		}
	}
	return found
}

// threads finds all threads that are nobody's subagent, newest first.
func (p *provider) threads(t tree) (list []session) {
	files, _ := p.all(t)
	for _, s := range files {
		s.head = t.head(s)
		for _, s := range append([]session{s}, t.further(s)...) {
			if !s.subagent() {
				list = append(list, s)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b session) int { return cmp.Compare(b.stem(), a.stem()) })
	return list
}

// mark is how a header begins.
var mark = []byte(`{"type":"session",`)

// further finds the sessions that begin within a file.
func (t tree) further(s session) (list []session) {
	f := t.Open(s.path())
	if f == nil {
		return nil
	}
	defer f.Close()
	for at, line := range jsonl.LinesWith(f, mark, headLen) {
		next := s
		next.start, next.head = at, parseHead(line)
		if next.head.id != "" && next.head.id != s.head.id {
			list = append(list, next)
		}
	}
	return list
}
