package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// A chat is one thread's part of a file, as name and head tell it. A file holds
// one, but where logs were put together, several.
type chat struct {
	stem     string // the file's name without the ending
	chats    string // the folder of its project's chats
	folder   string // the one below that in which it lies, "" for a session
	document bool   // one JSON document, not a log
	start    int64  // where it starts in the file
	head     head   // zero until it is read
	asked    string // the id by which its name was found; its head may be damaged
}

func (c chat) path() string { return filepath.Join(c.chats, c.folder, c.stem+c.ext()) }

func (c chat) ext() string {
	if c.document {
		return ".json"
	}
	return ".jsonl"
}

func (c chat) id() string { return cmp.Or(c.head.id, c.asked, c.stem) }

// parent is the id of the thread whose subagent it is. A folder is named after
// it, as far as its characters allow.
func (c chat) parent() string { return cmp.Or(c.head.parent, c.folder) }

func (c chat) subagent() bool { return c.parent() != "" || c.head.kind == "subagent" }

// begun is the minute in which it was begun, as 2026-06-12T10-00, if its name
// says so.
func (c chat) begun() string {
	_, stamp, _ := strings.Cut(c.stem, "session-")
	if len(stamp) < len(minute) || stamp[10] != 'T' {
		return ""
	}
	return stamp[:len(minute)]
}

const minute = "2006-01-02T15-04"

// A tree reads folders and the heads of chats.
type tree struct{ *thread.Walk }

func newTree(ctx context.Context) tree { return tree{thread.NewWalk(ctx)} }

// chats returns the chats that lie in a project's folder, or in one below it,
// and the names of the folders there.
func (t tree) chats(dir, below string) (chats []chat, folders []string) {
	in := filepath.Join(dir, below)
	entries := t.Folder(in)
	chats = make([]chat, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			folders = append(folders, name)
			continue
		}
		ext := filepath.Ext(name)
		if strings.HasPrefix(name, ".") || ext != ".json" && ext != ".jsonl" || below == "" && !strings.HasPrefix(name, "session-") {
			continue // checkpoints and the like
		}
		if e.Type().IsRegular() || thread.Regular(filepath.Join(in, name), e.Type()) {
			chats = append(chats, chat{stem: strings.TrimSuffix(name, ext), chats: dir, folder: below, document: ext == ".json"})
		}
	}
	return chats, folders
}

// projects returns the folders of all projects.
func (p *provider) projects(t tree) (dirs []string) {
	for _, root := range p.roots {
		for _, e := range t.Folder(filepath.Join(root, "tmp")) {
			if !e.Type().IsRegular() {
				dirs = append(dirs, filepath.Join(root, "tmp", e.Name()))
			}
		}
	}
	return dirs
}

// all returns what lies in the folders of all projects' chats, and the folders
// of subagents, without opening a file.
func (p *provider) all(t tree) (sessions, folders []chat) {
	var each [][]chat
	for _, project := range p.projects(t) {
		dir := filepath.Join(project, "chats")
		chats, below := t.chats(dir, "")
		each = append(each, chats)
		for _, name := range below {
			folders = append(folders, chat{chats: dir, folder: name})
		}
	}
	return slices.Concat(each...), folders
}

// locate finds the copies of a thread. Names tell in which of few files to look;
// where they mislead, the head of every chat is read, and only then is the
// start of a further thread looked for within logs.
func (p *provider) locate(t tree, id string) (found []chat) {
	suffix, name := "-"+id[:min(len(id), 8)], safe(id)
	named := func(c chat) []chat {
		if c.stem != id && c.stem != name && (len(id) <= 8 || !strings.HasSuffix(c.stem, suffix)) {
			return nil
		}
		c.head, c.asked = t.head(c), id
		return []chat{c}
	}
	headed := func(c chat) []chat {
		c.head = t.head(c)
		return []chat{c}
	}
	look := func(chats []chat, open func(chat) []chat) {
		for _, c := range chats {
			for _, c := range open(c) {
				if c.id() == id {
					found = append(found, c)
				}
			}
		}
	}
	chats, folders := p.all(t)
	look(chats, named)
	for i := 0; i < len(folders) && found == nil; i++ {
		more, _ := t.chats(folders[i].chats, folders[i].folder)
		chats = append(chats, more...)
		look(more, named)
	}
	for _, open := range []func(chat) []chat{headed, t.further} {
		for i := 0; i < len(chats) && found == nil; i++ {
			look(chats[i:i+1], open)
		}
	}
	return found
}

// sessions finds all threads that are nobody's subagent, newest first.
func (p *provider) sessions(t tree) []chat {
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
func (t tree) further(c chat) (list []chat) {
	if c.document {
		return nil
	}
	f := t.Open(c.path())
	if f == nil {
		return nil
	}
	defer f.Close()
	seen := map[string]bool{c.head.id: true}
	for at, line := range jsonl.LinesWith(f, mark, headLen) {
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
func (p *provider) swept(t tree, id string) string {
	quoted := []byte(`"` + id + `"`)
	for _, project := range p.projects(t) {
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
