package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/jsonl"
)

// A chat is one thread's part of a file, as name and head tell it. A file holds
// one, but where logs were put together, several.
type chat struct {
	path     string
	stem     string // its name without the ending
	chats    string // the folder of its project's chats
	folder   string // the one below that in which it lies, "" for a session
	document bool   // one JSON document, not a log
	start    int64  // where it starts in the file
	head     head   // zero until it is read
}

func (c chat) id() string {
	if c.head.id != "" {
		return c.head.id
	}
	return c.stem
}

// parent is the id of the thread whose subagent it is. A folder is named after
// it, as far as its characters allow.
func (c chat) parent() string {
	if c.head.parent != "" {
		return c.head.parent
	}
	return c.folder
}

func (c chat) subagent() bool { return c.parent() != "" || c.head.kind == "subagent" }

// A tree reads folders and never fails on a missing one.
type tree struct {
	ctx      context.Context
	errs     []error
	projects []string
}

func (t *tree) folder(dir string) []fs.DirEntry {
	if t.ctx.Err() != nil {
		t.fail(t.ctx.Err())
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !notDir(dir) {
		t.fail(err)
	}
	return entries
}

func notDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func (t *tree) fail(err error) {
	if len(t.errs) == 0 || !errors.Is(t.errs[len(t.errs)-1], err) {
		t.errs = append(t.errs, err)
	}
}

// chats returns the chats that lie in a project's folder, or in one below it,
// and the names of the folders there.
func (t *tree) chats(dir, below string) (chats []chat, folders []string) {
	in := filepath.Join(dir, below)
	for _, e := range t.folder(in) {
		name := e.Name()
		if e.IsDir() {
			folders = append(folders, name)
			continue
		}
		ext := filepath.Ext(name)
		if strings.HasPrefix(name, ".") || ext != ".json" && ext != ".jsonl" || !regular(filepath.Join(in, name), e.Type()) {
			continue
		}
		if below == "" && !strings.HasPrefix(name, "session-") {
			continue // checkpoints and the like
		}
		chats = append(chats, chat{path: filepath.Join(in, name), stem: strings.TrimSuffix(name, ext), chats: dir, folder: below, document: ext == ".json"})
	}
	return chats, folders
}

// regular keeps us from opening what would block.
func regular(path string, mode fs.FileMode) bool {
	if mode&fs.ModeSymlink != 0 {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}
	return mode.IsRegular()
}

// all returns the folders of all projects' chats, what lies in them, and the
// folders of subagents, without opening a file.
func (p *provider) all(t *tree) (sessions []chat, folders []chat) {
	for _, root := range p.roots {
		for _, e := range t.folder(filepath.Join(root, "tmp")) {
			if e.Type().IsRegular() {
				continue
			}
			project := filepath.Join(root, "tmp", e.Name())
			t.projects = append(t.projects, project)
			dir := filepath.Join(project, "chats")
			chats, below := t.chats(dir, "")
			sessions = append(sessions, chats...)
			for _, name := range below {
				folders = append(folders, chat{chats: dir, folder: name})
			}
		}
	}
	return sessions, folders
}

// locate finds the copies of a thread. Names tell in which of few files to look;
// where they mislead, the head of every chat is read, and only then is the
// start of a further thread looked for within logs.
func (p *provider) locate(t *tree, id string) (found []chat) {
	sessions, folders := p.all(t)
	named := func(c chat) bool {
		return c.stem == id || c.stem == safe(id) || len(id) > 8 && strings.HasSuffix(c.stem, "-"+id[:8])
	}
	var rest []chat
	look := func(chats []chat) {
		for _, c := range chats {
			if !named(c) {
				rest = append(rest, c)
			} else if c.head = t.head(c); c.head.id == id || c.head.id == "" {
				c.head.id = id
				found = append(found, c)
			}
		}
	}
	look(sessions)
	for _, f := range folders {
		if len(found) > 0 {
			return found
		}
		chats, _ := t.chats(f.chats, f.folder)
		look(chats)
	}
	for _, c := range rest {
		if len(found) > 0 {
			return found
		}
		if c.head = t.head(c); c.head.id == id {
			found = append(found, c)
		}
	}
	for _, c := range rest {
		if len(found) > 0 {
			return found
		}
		for _, further := range t.further(c) {
			if further.head.id == id {
				found = append(found, further)
			}
		}
	}
	return found
}

// sessions finds all threads that are nobody's subagent, newest first.
func (p *provider) sessions(t *tree) []chat {
	flat, _ := p.all(t)
	var list []chat
	for _, c := range flat {
		c.head = t.head(c)
		for _, c := range append([]chat{c}, t.further(c)...) {
			if !c.subagent() {
				list = append(list, c)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b chat) int { return cmp.Compare(b.stem, a.stem) })
	return list
}

// safe is how the tool makes a file name of an id.
func safe(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

// mark is how the first line of a log begins.
var mark = []byte(`{"sessionId":`)

// further finds the threads that begin within a log.
func (t *tree) further(c chat) (list []chat) {
	if c.document {
		return nil
	}
	f, err := os.Open(c.path)
	if err != nil {
		t.fail(err)
		return nil
	}
	defer f.Close()
	seen := map[string]bool{c.head.id: true}
	for at := range jsonl.LinesWith(f, mark) {
		line, err := jsonl.Span{Offset: at, Len: headLen}.Read(f, nil)
		if err != nil {
			break
		}
		next := c
		next.start, next.head = at, parseHead(line)
		if next.head.id != "" && !seen[next.head.id] {
			seen[next.head.id] = true
			list = append(list, next)
		}
	}
	return list
}

// swept returns the file in which the tool still has prompts of a thread.
func swept(t *tree, id string) string {
	quoted := []byte(`"` + id + `"`)
	for _, project := range t.projects {
		path := filepath.Join(project, "logs.json")
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, quoted) {
			return path
		}
	}
	return ""
}

// cwd returns the directory that a chat was held in, "" where nothing tells.
func (c chat) cwd() string {
	project := filepath.Dir(c.chats)
	if b, err := os.ReadFile(filepath.Join(project, ".project_root")); err == nil {
		return strings.TrimSpace(string(b))
	}
	if b, err := os.ReadFile(filepath.Join(project, "..", "..", "projects.json")); err == nil {
		for m := jsonl.Value(b).Get("projects").Members(); m.Next(); {
			sum := sha256.Sum256([]byte(m.Key()))
			if name := hex.EncodeToString(sum[:]); m.Value().Is(filepath.Base(project)) || name == filepath.Base(project) || name == c.head.hash {
				return m.Key()
			}
		}
	}
	return c.head.cwd
}
