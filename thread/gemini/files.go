package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread"
)

// A chat is the part of a file with one thread, as its name and head describe it. A
// file has one thread, or several if logs were concatenated.
type chat struct {
	stem     string // file name without extension
	chats    string // directory of the project's chats
	folder   string // subdirectory of chats, "" for a session
	document bool   // one JSON document, not a log
	start    int64  // offset in the file
	head     head   // zero until it is read
	asked    string // ID by which the file name was found; the head may be damaged
}

func (c chat) path() string { return filepath.Join(c.chats, c.folder, c.stem+c.ext()) }

func (c chat) ext() string {
	if c.document {
		return ".json"
	}
	return ".jsonl"
}

func (c chat) id() string { return cmp.Or(c.head.id, c.asked, c.stem) }

// parent returns the ID of the parent of a subagent. The directory is named after
// it, with some characters replaced.
func (c chat) parent() string { return cmp.Or(c.head.parent, c.folder) }

func (c chat) subagent() bool { return c.parent() != "" || c.head.kind == "subagent" }

// started returns the minute of the start in the file name, as 2026-06-12T10-00,
// "" if there is none.
func (c chat) started() string {
	_, stamp, _ := strings.Cut(c.stem, "session-")
	if len(stamp) < len(minute) || stamp[10] != 'T' {
		return ""
	}
	return stamp[:len(minute)]
}

const minute = "2006-01-02T15-04"

// A tree reads directories and the heads of chats.
type tree struct {
	*thread.Walk
	ids *[]string // of the chats that locate read
}

func newTree(ctx context.Context) tree { return tree{thread.NewWalk(ctx), new([]string)} }

// chats returns the chats in a project's directory of chats, or in a subdirectory
// of it, and the names of the directories there.
func (t tree) chats(dir, folder string) (chats []chat, folders []string) {
	in := filepath.Join(dir, folder)
	entries := t.ReadDir(in)
	chats = make([]chat, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			folders = append(folders, name)
			continue
		}
		if c, ok := newChat(dir, folder, name); ok && thread.IsRegular(in, e) {
			chats = append(chats, c)
		}
	}
	return chats, folders
}

// isChat reports whether the name of a file may be that of a chat.
func isChat(name string) bool {
	ext := filepath.Ext(name)
	return !strings.HasPrefix(name, ".") && (ext == ".json" || ext == ".jsonl")
}

// newChat returns the chat in a file. ok is false for a checkpoint or another file.
func newChat(dir, folder, name string) (c chat, ok bool) {
	if !isChat(name) || folder == "" && !strings.HasPrefix(name, "session-") {
		return c, false
	}
	ext := filepath.Ext(name)
	return chat{stem: strings.TrimSuffix(name, ext), chats: dir, folder: folder, document: ext == ".json"}, true
}

// projects returns the directories of all projects.
func (p *provider) projects(t tree) (dirs []string) {
	for _, root := range p.roots {
		for _, e := range t.ReadDir(filepath.Join(root, "tmp")) {
			if !e.Type().IsRegular() {
				dirs = append(dirs, filepath.Join(root, "tmp", e.Name()))
			}
		}
	}
	return dirs
}

// all returns the chats of all projects, and the directories of subagents, without
// opening a file.
func (p *provider) all(t tree) (sessions, folders []chat) {
	var each [][]chat
	for _, project := range p.projects(t) {
		dir := filepath.Join(project, "chats")
		chats, names := t.chats(dir, "")
		each = append(each, chats)
		for _, name := range names {
			folders = append(folders, chat{chats: dir, folder: name})
		}
	}
	return slices.Concat(each...), folders
}

// locate finds the copies of a thread: by file name, else by the head of every
// chat, else by the further threads in logs.
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
	search := func(chats []chat, open func(chat) []chat) {
		for _, c := range chats {
			for _, c := range open(c) {
				*t.ids = append(*t.ids, c.id())
				if c.id() == id {
					found = append(found, c)
				}
			}
		}
	}
	chats, folders := p.all(t)
	search(chats, named)
	for i := 0; i < len(folders) && found == nil; i++ {
		more, _ := t.chats(folders[i].chats, folders[i].folder)
		chats = append(chats, more...)
		search(more, named)
	}
	for _, open := range []func(chat) []chat{headed, t.further} {
		for i := 0; i < len(chats) && found == nil; i++ {
			search(chats[i:i+1], open)
		}
	}
	return found
}

// sessions finds all threads that are not subagents, newest first.
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
	order.Sort(list, func(a, b chat) int { return cmp.Compare(b.stem, a.stem) })
	return list
}

// safe returns the file name that the tool uses for an ID.
func safe(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

// mark is the beginning of the first line of a log.
var mark = []byte(`{"sessionId":`)

// further finds the threads after the first one in a log.
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

// maxFile is the size of the largest file that is read beside transcripts.
const maxFile = 64 << 20

// removed returns the file with prompts of a removed thread, "" if there is none.
func (p *provider) removed(t tree, id string) string {
	quoted := []byte(`"` + id + `"`)
	for _, project := range p.projects(t) {
		path := filepath.Join(project, "logs.json")
		if b, err := plainfile.ReadLinked(path, maxFile); err == nil && bytes.Contains(b, quoted) {
			return path
		}
	}
	return ""
}

// cwd returns the working directory of a chat, "" if it is not recorded.
func (c chat) cwd() string {
	project := filepath.Dir(c.chats)
	if b, err := plainfile.ReadLinked(filepath.Join(project, ".project_root"), maxFile); err == nil {
		return strings.TrimSpace(string(b))
	}
	if b, err := plainfile.ReadLinked(filepath.Join(project, "..", "..", "projects.json"), maxFile); err == nil {
		for m := jsonl.Value(b).Get("projects").Members(); m.Next(); {
			sum := sha256.Sum256([]byte(m.Key()))
			if name := hex.EncodeToString(sum[:]); m.Value().Is(filepath.Base(project)) || name == filepath.Base(project) ||
				name == c.head.hash {
				return m.Key()
			}
		}
	}
	return c.head.cwd
}
