package pi

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

const ext = ".jsonl"

// A session is the part of a file with one thread, as its name and header describe
// it. A file has one thread, or several if files were concatenated.
type session struct {
	dir   string
	name  string // of the file
	owner string // ID of the session whose directory contains it
	start int64  // offset in the file
	head  head   // zero until it is read
}

func (s session) path() string { return filepath.Join(s.dir, s.name) }

func (s session) stem() string { return strings.TrimSuffix(s.name, ext) }

func (s session) id() string { return cmp.Or(s.head.id, idOf(s.name)) }

// isRun reports whether its name is one that an extension uses for subagents: it
// ends in the ID of a run, which has four parts and is not a UUID.
func (s session) isRun() bool {
	stem := s.stem()
	end := stem[strings.LastIndexByte(stem, '_')+1:]
	return len(end) == len("00000000-00000000-00000000-0000") && end[8] == '-' && end[17] == '-' && end[26] == '-' &&
		strings.Count(end, "-") == 3 && strings.Trim(end, "0123456789abcdef-") == ""
}

// parent returns the ID of the parent of a subagent, "" if it is not recorded.
func (s session) parent() string {
	switch {
	case s.head.parent != "":
		return s.head.parent
	case s.owner != "":
		return s.owner
	case s.isRun():
		return idOf(s.head.from)
	}
	return ""
}

func (s session) subagent() bool { return s.parent() != "" || s.isRun() }

// idOf returns the ID at the end of the name of a session's file.
func idOf(path string) string {
	if path == "" {
		return ""
	}
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	name = strings.TrimSuffix(name, ext)
	return thread.LowerUUID(name[strings.LastIndexByte(name, '_')+1:])
}

// started returns the start in the file name, as 2026-05-24T23-39-56, "" if there
// is none.
func (s session) started() string {
	stamp, _, named := strings.Cut(s.stem(), "_")
	if !named || len(stamp) < len(second) || stamp[10] != 'T' {
		return ""
	}
	return stamp[:len(second)]
}

const second = "2006-01-02T15-04-05"

// A tree reads directories and the headers of sessions.
type tree struct {
	*thread.Walk
	ids *[]string // of the sessions that locate read
}

func newTree(ctx context.Context) tree { return tree{thread.NewWalk(ctx), new([]string)} }

// folder returns the sessions in dir and the names of the directories there.
func (t tree) folder(dir string) (files []session, folders []string) {
	entries := t.ReadDir(dir)
	files = make([]session, 0, len(entries))
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir():
			folders = append(folders, name)
		case strings.HasSuffix(name, ext) && thread.IsRegular(dir, e):
			files = append(files, session{dir: dir, name: name})
		}
	}
	return files, folders
}

// artifacts is a directory of published files, which may be transcripts.
const artifacts = "artifacts"

// all returns the sessions in the roots and in the directories of projects, and
// those of them that have a directory, which contains sessions of subagents.
func (p *provider) all(t tree) (files []session, owners []session) {
	visit := func(dir string) (projects []string) {
		here, names := t.folder(dir)
		files = append(files, here...)
		for _, name := range names {
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
		for _, project := range visit(root) {
			visit(project)
		}
	}
	return files, owners
}

const maxDepth = 8 // of directories of subagents

// descend returns the sessions in the directory of s, and in theirs down to depth.
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

// has reports whether there is a session with the file name of path.
func (p *provider) has(t tree, path string) bool {
	files, _ := p.all(t)
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	return slices.ContainsFunc(files, func(s session) bool { return s.name == name })
}

// locate finds the copies of a thread: by file name, else by the headers of all
// sessions, else in the directories of sessions, else by further headers in files.
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
	nested := func(s session) []session { return t.descend(headed(s)[0], maxDepth) }
	for _, search := range []struct {
		in   []session
		open func(session) []session
	}{{files, headed}, {owners, nested}, {files, t.further}} {
		for i := 0; i < len(search.in) && found == nil; i++ {
			for _, s := range search.open(search.in[i]) {
				*t.ids = append(*t.ids, s.id())
				if s.id() == id {
					found = append(found, s)
				}
			}
		}
	}
	return found
}

// threads finds all threads that are not subagents, newest first.
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
	order.Sort(list, func(a, b session) int { return cmp.Compare(b.stem(), a.stem()) })
	return list
}

// mark is the beginning of a header.
var mark = []byte(`{"type":"session",`)

// further finds the sessions after the first one in a file.
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
