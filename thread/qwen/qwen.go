// Package qwen reads the chats of Qwen Code.
//
// A chat is projects/PROJECT/chats/ID.jsonl in the home directory of the tool, ~/.qwen
// or $QWEN_HOME. Its records have an envelope like that of Claude Code and messages
// like those of Gemini CLI. A subagent is projects/PROJECT/subagents/ID/agent-AGENT.jsonl.
//
// The records are described by the public QwenLM/qwen-code
// (packages/core/src/services/chatRecordingService.ts); docs/threads.md lists the
// facts this package relies on.
package qwen

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/internal/engine"
)

const (
	name = "qwen"
	env  = "QWEN_HOME"
	ext  = ".jsonl"
)

// Driver returns the driver of Qwen Code.
func Driver() thread.Driver {
	return thread.Driver{
		Name: name, Env: env, ID: thread.UUIDs, Roots: thread.Home(env, ".qwen"), Resume: []string{name, "--resume"},
		Unverified: "tested with sessions that were recorded with a scripted server, not with one of a person",
		Open:       engine.Open(engine.Program{Name: name, Env: env, Find: find}),
	}
}

// find finds the chats and subagents of all projects.
func find(_ context.Context, w *thread.Walk, roots []string) (list []*engine.Found, err error) {
	for _, root := range roots {
		projects := filepath.Join(root, "projects")
		for _, e := range w.ReadDir(projects) {
			project := filepath.Join(projects, e.Name())
			for _, dir := range []string{"chats", "chats/archive"} {
				list = append(list, files(w, filepath.Join(project, filepath.FromSlash(dir)), "", "")...)
			}
			subagents := filepath.Join(project, "subagents")
			for _, e := range w.ReadDir(subagents) {
				list = append(list, files(w, filepath.Join(subagents, e.Name()), "agent-", e.Name())...)
			}
		}
	}
	return list, nil
}

// files returns the transcripts in dir whose names start with prefix.
func files(w *thread.Walk, dir, prefix, parent string) (list []*engine.Found) {
	for _, e := range w.ReadDir(dir) {
		stem, ok := strings.CutSuffix(e.Name(), ext)
		id, named := strings.CutPrefix(stem, prefix)
		if !ok || !named || !thread.IsRegular(dir, e) {
			continue
		}
		f := &engine.Found{ID: thread.LowerUUID(id), Path: filepath.Join(dir, e.Name()), Parent: thread.LowerUUID(parent),
			Open: open}
		if parent != "" {
			f.Proof = []string{"the transcript is in the directory of the session"}
		}
		list = append(list, f)
	}
	return list
}

// partLen is how much of the start and of the end of a chat is read for metadata.
const partLen = 32 << 10

// open sets the metadata of a chat from its first records, and its title from the
// last one near its start or end.
func open(w *thread.Walk, t *thread.Thread) {
	for line := range bytes.Lines(w.Head(t.Source, partLen)) {
		v := jsonl.Value(line)
		if t.Started.IsZero() {
			t.Started, t.Cwd = v.Get("timestamp").Time(), v.Get("cwd").Text()
			t.Branch, t.Version = v.Get("gitBranch").Text(), v.Get("version").Text()
			t.AgentName = v.Get("agentName").Text()
			if id := thread.LowerUUID(v.Get("sessionId").Text()); id != t.ID && t.Parent == "" && id != "" {
				t.WarnID(t.ID, id)
			}
		}
		setTitle(t, v)
	}
	for line := range bytes.Lines(w.Tail(t.Source, partLen)) {
		setTitle(t, jsonl.Value(line))
	}
	t.Archived = filepath.Base(filepath.Dir(t.Source)) == "archive"
	subagent := t.Parent != ""
	t.Reader = &engine.Reader{Source: engine.Lines(t.Source), New: func(s *engine.Scan) engine.Decoder {
		return &decode{Scan: s, subagent: subagent}
	}}
}

func setTitle(t *thread.Thread, v jsonl.Value) {
	if title := v.Get("systemPayload", "customTitle").Text(); title != "" && v.Get("subtype").Is("custom_title") {
		t.Title = title
	}
}
