package claude

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/thread"
)

const (
	plain    = ".jsonl"
	prefix   = "agent-"
	agentDir = "subagents"
	desktop  = "local-agent-mode-sessions"
	maxDepth = 3 // of directories in subagents; workflows create two levels
)

// A file is a transcript, as its path describes it.
type file struct {
	path     string
	id       string // of the session or subagent
	agent    bool
	session  string // of the directory of a subagent; "" if it is beside sessions
	size     int64
	modified time.Time
}

// A tree finds transcripts.
type tree struct{ *thread.Walk }

func newTree(ctx context.Context) tree { return tree{thread.NewWalk(ctx)} }

// stat returns the file at path, whose name without extension is stem. ok reports
// whether it may be a transcript.
func (t tree) stat(path, stem string) (f file, ok bool) {
	info := t.Stat(path)
	if info == nil || !info.Mode().IsRegular() {
		return f, false
	}
	return newFile(path, stem, info.Size(), thread.ModTime(info)), true
}

func newFile(path, stem string, size int64, modified time.Time) file {
	id, agent := strings.CutPrefix(stem, prefix)
	return file{path: path, id: thread.LowerUUID(id), agent: agent, size: size, modified: modified}
}

// folder returns the transcripts of subagents, or of sessions, in dir, and the
// names of its directories.
func (t tree) folder(dir string, agents bool) (files []file, dirs []string) {
	for _, e := range t.ReadDir(dir) {
		if e.IsDir() {
			dirs = append(dirs, e.Name())
			continue
		}
		stem, ok := stemOf(e.Name())
		if !ok || strings.HasPrefix(stem, prefix) != agents {
			continue
		}
		if f, ok := t.stat(filepath.Join(dir, e.Name()), stem); ok {
			files = append(files, f)
		}
	}
	return files, dirs
}

// stemOf returns the name of a transcript without its extension. ok reports whether
// name is that of a transcript.
func stemOf(name string) (stem string, ok bool) {
	stem, ok = strings.CutSuffix(name, plain)
	return stem, ok && stem != "" && stem != prefix
}

// projects returns the directories of transcripts in all home directories, each
// once.
func (p *provider) projects(ctx context.Context) ([]string, error) {
	var dirs []string
	var errs []error
	seen := map[string]bool{}
	add := func(home string) {
		root := filepath.Join(home, "projects")
		if real, err := filepath.EvalSymlinks(root); err == nil {
			if seen[real] {
				return
			}
			seen[real] = true
		}
		entries, err := os.ReadDir(root)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, thread.UnreadableError(root, err))
		}
		for _, e := range entries {
			if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
				dirs = append(dirs, filepath.Join(root, e.Name()))
			}
		}
	}
	for _, root := range p.roots {
		if filepath.Base(root) != desktop {
			add(root)
			continue
		}
		for _, home := range desktopHomes(root, maxDepth) {
			add(home)
		}
	}
	return dirs, errors.Join(append(errs, ctx.Err())...)
}

// desktopHomes returns the home directories of the desktop app's sessions.
func desktopHomes(dir string, depth int) []string {
	var homes []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), "local_"):
			homes = append(homes, filepath.Join(path, ".claude"))
		case depth > 0:
			homes = append(homes, desktopHomes(path, depth-1)...)
		}
	}
	return homes
}

// nested returns the subagents of a session in a directory of transcripts and in those
// of all projects. Of several copies, the newest counts.
func (p *provider) nested(ctx context.Context, t tree, dir, session string) (newest []file, err error) {
	projects, err := p.projects(ctx)
	files := t.nested(dir, session)
	for _, project := range projects {
		if project != dir {
			files = append(files, t.nested(project, session)...)
		}
	}
	order.Sort(files, newestFirst)
	for _, copies := range thread.GroupByID(files, func(f file) string { return f.id }) {
		newest = append(newest, copies[0])
	}
	return newest, err
}

// nested returns the subagents in the directory of a session, at any level.
func (t tree) nested(dir, session string) []file {
	return t.descend(filepath.Join(dir, session, agentDir), session, maxDepth)
}

func (t tree) descend(dir, session string, depth int) []file {
	files, dirs := t.folder(dir, true)
	for i := range files {
		files[i].session = session
	}
	for _, name := range dirs {
		if depth > 0 {
			files = append(files, t.descend(filepath.Join(dir, name), session, depth-1)...)
		}
	}
	return files
}

// beside returns the subagents in dir. Older versions keep them beside sessions.
func (t tree) beside(dir string) []file {
	files, _ := t.folder(dir, true)
	return files
}

// isName reports whether id can be part of a file name.
func isName(id string) bool {
	return id != "" && !strings.ContainsAny(id, `/\`+"\x00") && filepath.IsLocal(id) && id != "."
}

// sessions returns the transcripts of a session.
func (t tree) sessions(projects []string, id string) []file {
	if !isName(id) || strings.HasPrefix(id, prefix) {
		return nil
	}
	var files []file
	for _, dir := range projects {
		if f, ok := t.stat(filepath.Join(dir, id+plain), id); ok {
			files = append(files, f)
		}
	}
	return files
}

// agentFiles returns the transcripts of a subagent of any session.
func (t tree) agentFiles(projects []string, id string) (files []file) {
	id = strings.TrimPrefix(id, prefix)
	if !isName(id) {
		return nil
	}
	base := prefix + id + plain
	for _, dir := range projects {
		if f, ok := t.stat(filepath.Join(dir, base), prefix+id); ok {
			files = append(files, f)
		}
		for _, e := range t.ReadDir(dir) {
			if !e.IsDir() {
				continue
			}
			if f, ok := t.stat(filepath.Join(dir, e.Name(), agentDir, base), prefix+id); ok {
				f.session = e.Name()
				files = append(files, f)
				continue
			}
			for _, f := range t.descend(filepath.Join(dir, e.Name(), agentDir, "workflows"), e.Name(), maxDepth) {
				if f.id == id {
					files = append(files, f)
				}
			}
		}
	}
	return files
}

// traces looks for the files that name a removed transcript, and for its
// subagents.
func (p *provider) traces(ctx context.Context, projects []string, id string) (trace string, subagents []string,
	err error) {
	if !thread.IsUUID(id) {
		return "", nil, nil
	}
	t := newTree(ctx)
	for _, dir := range projects {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		if info, err := os.Stat(filepath.Join(dir, id)); err == nil && info.IsDir() {
			trace = cmp.Or(trace, "its directory is still in "+dir)
			for _, f := range t.nested(dir, id) {
				subagents = append(subagents, f.id)
			}
		}
		for _, f := range t.beside(dir) {
			if m, err := readMeta(f); err == nil && m.session == id {
				trace = cmp.Or(trace, "a subagent of it is still in "+dir)
				subagents = append(subagents, f.id)
			}
		}
		if index := filepath.Join(dir, "sessions-index.json"); trace == "" && mentions(ctx, index, id) {
			trace = index + " names it"
		}
	}
	for _, root := range p.roots {
		for _, kept := range []string{"file-history", "session-env", "tasks"} {
			if _, err := os.Stat(filepath.Join(root, kept, id)); err == nil {
				trace = cmp.Or(trace, filepath.Join(root, kept)+" has files of it")
			}
		}
		if history := filepath.Join(root, "history.jsonl"); trace == "" && mentions(ctx, history, id) {
			trace = history + " names it"
		}
	}
	slices.Sort(subagents)
	return trace, slices.Compact(subagents), ctx.Err()
}

// mentions reports whether a file contains a text.
func mentions(ctx context.Context, path, text string) bool {
	return eachLineUntil(ctx, path, func(line []byte) bool { return bytes.Contains(line, []byte(text)) })
}

// eachLineUntil reports whether found is true for one of the lines of a file.
func eachLineUntil(ctx context.Context, path string, found func(line []byte) bool) bool {
	src, err := thread.OpenFile(path)
	if err != nil {
		return false
	}
	defer src.Close()
	rd := jsonl.Borrow(src)
	defer rd.Return()
	for rd.Next() && ctx.Err() == nil {
		if found(rd.Line()) {
			return true
		}
	}
	return false
}
