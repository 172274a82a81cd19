package pi

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

const ext = ".jsonl"

// A session is one thread's part of a file, as name and head tell it. A file
// holds one, but where files were put together, several.
type session struct {
	path  string
	owner string // the id of the session in whose folder it lies
	start int64  // where it starts in the file
	head  head   // zero until it is read
}

func (s session) stem() string { return strings.TrimSuffix(filepath.Base(s.path), ext) }

func (s session) id() string {
	if s.head.id != "" {
		return s.head.id
	}
	return idOf(s.path)
}

// run is how a name ends that an extension gives to what a subagent writes: the
// run's id, and three more parts, which make no UUID.
var run = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{4}$`) })

// parent is the id of the thread whose subagent it is, as far as it says so.
func (s session) parent() string {
	switch {
	case s.head.parent != "":
		return s.head.parent
	case s.owner != "":
		return s.owner
	case run().MatchString(s.stem()):
		return idOf(s.head.from)
	}
	return ""
}

func (s session) subagent() bool { return s.parent() != "" || run().MatchString(s.stem()) }

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

// A tree reads folders and never fails on a missing one.
type tree struct {
	ctx  context.Context
	errs []error
}

func (t *tree) fail(err error) {
	if len(t.errs) == 0 || !errors.Is(t.errs[len(t.errs)-1], err) {
		t.errs = append(t.errs, err)
	}
}

// folder returns the session files in dir and the names of the folders there.
func (t *tree) folder(dir string) (files []session, folders []string) {
	if t.ctx.Err() != nil {
		t.fail(t.ctx.Err())
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.fail(err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			folders = append(folders, e.Name())
		case filepath.Ext(path) == ext && regular(path, e.Type()):
			files = append(files, session{path: path})
		}
	}
	return files, folders
}

// regular keeps us from opening what would block.
func regular(path string, mode fs.FileMode) bool {
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return mode.IsRegular()
}

// artifacts is a folder of what agents publish, transcripts of others too.
const artifacts = "artifacts"

// all returns the sessions that lie in a root or in a project's folder, and the
// folders of those that have one: subagents' sessions lie there. What else lies
// deeper is no session.
func (p *provider) all(t *tree) (files []session, owners []session) {
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
func (t *tree) below(s session) []session {
	const deepest = 8
	return t.descend(s, deepest)
}

func (t *tree) descend(s session, depth int) (list []session) {
	dir := strings.TrimSuffix(s.path, ext)
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
func (p *provider) locate(t *tree, id string) (found []session) {
	files, owners := p.all(t)
	var rest []session
	for _, s := range files {
		if idOf(s.path) != id {
			rest = append(rest, s)
			continue
		}
		s.head = t.head(s)
		found = append(found, s)
	}
	for i := 0; i < len(rest) && len(found) == 0; i++ {
		if rest[i].head = t.head(rest[i]); rest[i].head.id == id {
			found = append(found, rest[i])
		}
	}
	for i := 0; i < len(owners) && len(found) == 0; i++ {
		owners[i].head = t.head(owners[i])
		for _, s := range t.below(owners[i]) {
			if s.id() == id {
				found = append(found, s)
			}
		}
	}
	for i := 0; i < len(rest) && len(found) == 0; i++ {
		for _, s := range t.further(rest[i]) {
			if s.id() == id {
				found = append(found, s)
			}
		}
	}
	return found
}

// threads finds all threads that are nobody's subagent, newest first.
func (p *provider) threads(t *tree) (list []session) {
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
func (t *tree) further(s session) (list []session) {
	f, err := os.Open(s.path)
	if err != nil {
		t.fail(err)
		return nil
	}
	defer f.Close()
	for at := range jsonl.LinesWith(f, mark) {
		line, err := jsonl.Span{Offset: at, Len: headLen}.Read(f, nil)
		if err != nil {
			break
		}
		next := s
		next.start, next.head = at, parseHead(line)
		if next.head.id != "" && next.head.id != s.head.id {
			list = append(list, next)
		}
	}
	return list
}
