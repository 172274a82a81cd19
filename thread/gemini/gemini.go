// Package gemini reads the chats of Gemini CLI.
//
// A chat is in tmp/PROJECT/chats in the home directory of the tool, ~/.gemini or
// $GEMINI_CLI_HOME/.gemini. PROJECT is a hash of the working directory or a short
// name for it. Until version 0.38 a chat is one JSON document, which is rewritten
// for each message. Since then it is a log of operations: a message with a known
// ID replaces the earlier one, $set replaces members, also the list of messages,
// and $rewindTo removes a message and all after it. A file name ends in the first
// eight characters of the ID. The chat of a subagent is in a directory named after
// its parent.
//
// The format is undocumented. docs/threads.md lists the facts this package relies
// on, which were found in published chats and in the public source of the tool.
package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name     = "gemini"
	env      = "GEMINI_CLI_HOME" // replaces the user's home directory
	logs     = ".jsonl"
	document = ".json"
	dir      = "chats" // of a project
)

// Driver returns the driver of Gemini CLI.
func Driver() thread.Driver {
	program := engine.Program{Name: name, Env: env, Stores: []engine.Store{store("session-*"), store("{parent}/*")},
		Head: readHead, HeadLen: headLen, Starts: []byte(`{"sessionId":`), Open: open, Other: other, Begun: minute,
		Newest: true, Plain: true, Alone: true}
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs,
		Roots: func(getenv func(string) string, home string) []string {
			return []string{filepath.Join(cmp.Or(getenv(env), home), ".gemini")}
		},
		Beside: []string{"../.project_root", "../../.project_root"},
		Resume: []string{name, "--resume"},
		Open:   engine.Open(program),
	}
}

// store returns the store of the chats with such paths in a directory of chats.
func store(chats string) engine.Store {
	in := func(project string) string { return "tmp/" + project + "/" + dir + "/" + chats }
	return engine.Store{Pattern: in("*"), Set: describe,
		ID: func(text string) (string, bool) {
			ext := filepath.Ext(text)
			return "", (ext == logs || ext == document) && text[0] != '.'
		},
		Narrow: func(q engine.Query) []string {
			switch project := filepath.Base(projectOf(q.Beside)); {
			case q.Main && strings.HasPrefix(chats, "{parent}"):
				return []string{}
			case q.Beside != "" && !strings.ContainsAny(project, "*{}"):
				return []string{in(project)}
			}
			return nil
		}}
}

// projectOf returns the directory of the project of the chat in path.
func projectOf(path string) string {
	chats := filepath.Dir(path)
	if filepath.Base(chats) != dir {
		chats = filepath.Dir(chats) // of a subagent
	}
	return filepath.Dir(chats)
}

func stemOf(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

const minute = "2006-01-02T15-04"

// describe sets what the path of a chat shows. The log of a continued document is
// preferred.
func describe(f *engine.Found) {
	stem := stemOf(f.Path)
	if f.Sort = stem; filepath.Ext(f.Path) == document {
		f.Whole, f.Rank = true, 1
	}
	f.Also = func() []string { return directories(f.Path) }
	if f.Parent != "" {
		f.Alias = stem
		return
	}
	f.Named = stem
	if _, stamp, _ := strings.Cut(stem, "session-"); len(stamp) >= len(minute) && stamp[10] == 'T' {
		f.Begun = stamp[:len(minute)]
	}
	if n := len(stem) - 8; n > 0 && stem[n-1] == '-' && !strings.Contains(stem[n:], "-") {
		f.Short = stem[n:]
	}
}

// A chat is what is known of a chat before its messages are read.
type chat struct {
	stem   string // file name without extension
	folder string // the directory of a subagent, which is named after its parent
	head
}

// A head is the metadata of a chat.
type head struct {
	id, hash, kind, parent, title, cwd string
	started                            time.Time
}

// headLen is how much of a chat is read for its head, and of the end of a document,
// where newer versions write some members.
const headLen = 4 << 10

// readHead sets what the head of a chat shows.
func readHead(w *thread.Walk, f *engine.Found, start jsonl.Value) {
	var c chat
	if c.stem = stemOf(f.Path); filepath.Base(filepath.Dir(f.Path)) != dir {
		c.folder = filepath.Base(filepath.Dir(f.Path))
	}
	if f.Whole {
		c.head = parseHead(start)
		if len(start) == headLen {
			c.readTail(w.Tail(f.Path, headLen))
		}
	} else {
		c.head = parseHead(firstHead(start))
	}
	f.ID, f.Head = c.id, c
	f.Parent, f.Proof = cmp.Or(c.parent, c.folder), nil
	if f.ID == "" && c.folder != "" {
		f.ID = c.stem
	}
	if c.parent != "" {
		f.Proof = []string{"child chat payload includes explicit parent session reference"}
	}
	if c.folder != "" && c.folder == safe(f.Parent) {
		f.Proof = append(f.Proof, "child chat is in the directory named after main thread")
	}
	f.Hidden = c.kind == "subagent"
	if f.Start > 0 {
		f.Named, f.Short = "", ""
	}
}

// firstHead returns the line with the head of a log: the first, unless the file is
// damaged.
func firstHead(b jsonl.Value) jsonl.Value {
	for line := range bytes.Lines(b) {
		v := jsonl.Value(line)
		if v.Get("sessionId").Kind() == jsonl.String && v.Get("type").Kind() == jsonl.Absent {
			return v
		}
	}
	return nil
}

func parseHead(v jsonl.Value) head {
	var m jsonl.Members
	m.Parse(v)
	h := head{id: m.Get("sessionId").Text(), hash: m.Get("projectHash").Text(), started: m.Get("startTime").Time()}
	for _, name := range []string{"parentSessionId", "parent_session_id", "parentId", "kind", "summary", "directories"} {
		h.set(name, m.Get(name))
	}
	return h
}

// set sets a member that documents have at their start or at their end.
func (h *head) set(name string, v jsonl.Value) {
	switch name {
	case "parentSessionId", "parent_session_id", "parentId":
		h.parent = cmp.Or(v.Text(), h.parent)
	case "kind":
		h.kind = cmp.Or(v.Text(), h.kind)
	case "summary":
		h.title = cmp.Or(v.Text(), h.title)
	case "directories":
		if c := v.Elements(); c.Next() {
			h.cwd = c.Value().Text()
		}
	}
}

// readTail reads the members after the messages of a document. They are indented by
// two spaces, members of messages by more.
func (h *head) readTail(b []byte) {
	for line := range bytes.Lines(b) {
		member, ok := bytes.CutPrefix(line, []byte(`  "`))
		name, value, found := bytes.Cut(member, []byte(`": `))
		if ok && found {
			h.set(string(name), jsonl.Value(value))
		}
	}
}

// safe returns the file name that the tool uses for an ID.
func safe(id string) string {
	return strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

// open sets the metadata and the reader of a chat.
func open(_ *thread.Walk, f *engine.Found, t *thread.Thread) {
	c := f.Head.(chat)
	t.Title, t.Cwd, t.Started = c.title, c.workingDirectory(f.Path), c.started
	if c.id == "" {
		t.Warn("the chat has no ID; it is taken from the file name")
	}
	t.Reader = reader(f, c)
}

// maxFile is the size of the largest file that is read beside transcripts.
const maxFile = 64 << 20

// directories returns the files that have the working directory of a chat.
func directories(path string) []string {
	const slash = string(filepath.Separator)
	project := projectOf(path)
	return []string{project + slash + ".project_root", filepath.Dir(filepath.Dir(project)) + slash + "projects.json"}
}

// workingDirectory returns the working directory of a chat, "" if it is not recorded.
func (c *chat) workingDirectory(path string) string {
	project, files := filepath.Base(projectOf(path)), directories(path)
	if b, err := plainfile.ReadLinked(files[0], maxFile); err == nil {
		return strings.TrimSpace(string(b))
	}
	if b, err := plainfile.ReadLinked(files[1], maxFile); err == nil {
		for m := jsonl.Value(b).Get("projects").Members(); m.Next(); {
			sum := sha256.Sum256([]byte(m.Key()))
			if name := hex.EncodeToString(sum[:]); m.Value().Is(project) || name == project || name == c.hash {
				return m.Key()
			}
		}
	}
	return c.cwd
}

// other finds a subagent by the name of its chat, whose head is damaged, or returns the
// error for a removed chat, of which a file with prompts remains.
func other(ctx context.Context, p *engine.Provider, all []*engine.Found, id string) (*thread.Thread, error) {
	w := thread.NewWalk(ctx)
	for _, f := range all {
		if c, _ := f.Head.(chat); f.Alias != "" && f.Alias == safe(id) && c.id == "" {
			f.ID = id
			return p.OpenFound(w, f)
		}
	}
	for _, root := range p.Roots() {
		for _, e := range w.ReadDir(filepath.Join(root, "tmp")) {
			log := filepath.Join(root, "tmp", e.Name(), "logs.json")
			b, err := plainfile.ReadLinked(log, maxFile)
			if err == nil && bytes.Contains(b, []byte(`"`+id+`"`)) {
				return nil, handoff.E("thread", name+"/"+id, handoff.Unavailable,
					errors.New("the chat was removed: only its prompts remain, in "+log),
					handoff.Advice("the tool deletes old chats; look for a backup"))
			}
		}
	}
	return nil, ctx.Err()
}
