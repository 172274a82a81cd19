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

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

const (
	plain     = ".jsonl"
	prefix    = "agent-"
	subagents = "subagents"
	desktop   = "local-agent-mode-sessions"
	maxDepth  = 3 // folders below subagents; workflows make two
)

// A file is a transcript as its place tells it.
type file struct {
	path     string
	id       string // of the session, or of the subagent
	agent    bool
	session  string // in whose folder a subagent's lies; "" beside sessions
	size     int64
	modified time.Time
}

// parse makes a file of an entry; ok says whether it may be a transcript.
func parse(dir string, e fs.DirEntry) (f file, ok bool) {
	stem, ok := strings.CutSuffix(e.Name(), plain)
	if !ok || stem == "" || stem == prefix {
		return f, false
	}
	return look(filepath.Join(dir, e.Name()), stem)
}

// look makes a file of a path whose name, without its end, is stem.
func look(path, stem string) (f file, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return f, false
	}
	f = file{path: path, id: stem, size: info.Size(), modified: info.ModTime()}
	if id, is := strings.CutPrefix(stem, prefix); is {
		f.id, f.agent = id, true
	}
	if thread.IsUUID(f.id) {
		f.id = strings.ToLower(f.id)
	}
	return f, true
}

// projects finds the folders of all homes in which transcripts lie, each once.
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
			errs = append(errs, thread.Unreadable(root, err))
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
		for _, home := range localHomes(root, maxDepth) {
			add(home)
		}
	}
	return dirs, errors.Join(append(errs, ctx.Err())...)
}

// localHomes finds the homes that the desktop app gives to its own sessions.
func localHomes(dir string, depth int) []string {
	var homes []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		below := filepath.Join(dir, e.Name())
		switch {
		case !e.IsDir():
		case strings.HasPrefix(e.Name(), "local_"):
			homes = append(homes, filepath.Join(below, ".claude"))
		case depth > 0:
			homes = append(homes, localHomes(below, depth-1)...)
		}
	}
	return homes
}

// folder finds the transcripts that lie in dir itself.
func folder(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var files []file
	for _, e := range entries {
		if f, ok := parse(dir, e); ok && !e.IsDir() {
			files = append(files, f)
		}
	}
	return files, err
}

// nested finds the subagents in the folder of a session, whatever they belong
// to there. What is not named as one is none: a workflow's journal, a setting.
func nested(dir, session string) []file {
	return below(filepath.Join(dir, session, subagents), session, maxDepth)
}

func below(dir, session string, depth int) []file {
	var files []file
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			if depth > 0 {
				files = append(files, below(filepath.Join(dir, e.Name()), session, depth-1)...)
			}
			continue
		}
		if f, ok := parse(dir, e); ok && f.agent {
			f.session = session
			files = append(files, f)
		}
	}
	return files
}

// beside finds the subagents that older versions keep beside their session.
func beside(dir string) []file {
	var files []file
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		if f, ok := parse(dir, e); ok {
			files = append(files, f)
		}
	}
	return files
}

// word reports whether id can be part of a file's name.
func word(id string) bool {
	return id != "" && !strings.ContainsAny(id, `/\`+"\x00") && filepath.IsLocal(id) && id != "."
}

// sessions finds the transcripts of a session: one look into each folder.
func sessions(projects []string, id string) []file {
	var files []file
	for _, dir := range projects {
		if !word(id) || strings.HasPrefix(id, prefix) {
			break
		}
		if f, ok := look(filepath.Join(dir, id+plain), id); ok {
			files = append(files, f)
		}
	}
	return files
}

// agentFiles finds the transcripts of a subagent in any session.
func agentFiles(ctx context.Context, projects []string, id string) ([]file, error) {
	id = strings.TrimPrefix(id, prefix)
	if !word(id) {
		return nil, nil
	}
	name := prefix + id + plain
	var files []file
	for _, dir := range projects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f, ok := look(filepath.Join(dir, name), prefix+id); ok {
			files = append(files, f)
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			if f, ok := look(filepath.Join(dir, e.Name(), subagents, name), prefix+id); ok {
				f.session = e.Name()
				files = append(files, f)
				continue
			}
			for _, f := range below(filepath.Join(dir, e.Name(), subagents, "workflows"), e.Name(), maxDepth) {
				if f.id == id {
					files = append(files, f)
				}
			}
		}
	}
	return files, nil
}

// traces looks for what a transcript leaves behind when it is removed, and for
// the subagents that are left of it.
func (p *provider) traces(ctx context.Context, projects []string, id string) (trace string, left []string, err error) {
	if !thread.IsUUID(id) {
		return "", nil, nil
	}
	for _, dir := range projects {
		if err := ctx.Err(); err != nil {
			return "", nil, err
		}
		if info, err := os.Stat(filepath.Join(dir, id)); err == nil && info.IsDir() {
			trace = cmp.Or(trace, "its folder is left in "+dir)
			for _, f := range nested(dir, id) {
				left = append(left, f.id)
			}
		}
		for _, f := range beside(dir) {
			if m, err := readMeta(f); err == nil && m.session == id {
				trace = cmp.Or(trace, "a subagent of it is left in "+dir)
				left = append(left, f.id)
			}
		}
		if index := filepath.Join(dir, "sessions-index.json"); trace == "" && mentions(ctx, index, id) {
			trace = index + " names it"
		}
	}
	for _, root := range p.roots {
		for _, kept := range []string{"file-history", "session-env", "tasks"} {
			if _, err := os.Stat(filepath.Join(root, kept, id)); err == nil {
				trace = cmp.Or(trace, filepath.Join(root, kept)+" holds something of it")
			}
		}
		if history := filepath.Join(root, "history.jsonl"); trace == "" && mentions(ctx, history, id) {
			trace = history + " names it"
		}
	}
	slices.Sort(left)
	return trace, slices.Compact(left), ctx.Err()
}

// mentions reports whether a file holds id.
func mentions(ctx context.Context, path, id string) bool {
	src, err := thread.OpenFile(path)
	if err != nil {
		return false
	}
	defer src.Close()
	rd := jsonl.NewReader(src)
	for rd.Next() && ctx.Err() == nil {
		if bytes.Contains(rd.Line(), []byte(id)) {
			return true
		}
	}
	return false
}
