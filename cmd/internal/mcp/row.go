package mcp

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/workspace"
)

// A row is an artifact in a list: the members of its JSON that are needed to choose and
// open it, without those that are as usual.
type row struct {
	ID       string         `json:"id"`
	Channel  string         `json:"channel"`
	Path     string         `json:"path"`
	Worktree string         `json:"worktree,omitempty"` // with File
	File     *string        `json:"file,omitempty"`     // unless it is Path in the caller's directory
	Title    string         `json:"title,omitempty"`
	Producer rowProducer    `json:"producer,omitzero"`
	Status   handoff.Status `json:"status,omitempty"`   // unless active
	Revision int            `json:"revision,omitempty"` // from 2
	Labels   []string       `json:"labels,omitempty"`
	Notices  []rowNotice    `json:"notices,omitempty"`
}

// A rowProducer names the producer of an artifact in a list: the agent, otherwise the
// program.
type rowProducer struct {
	Harness string `json:"harness,omitempty"`
	Agent   string `json:"agent,omitempty"`
}

// A rowNotice is a notice in a list. artifact_get has its text.
type rowNotice struct {
	Code handoff.NoticeCode `json:"code"`
}

func newRow(w *workspace.Workspace, a handoff.Artifact) row {
	r := row{ID: a.ID, Channel: a.Channel, Path: a.Path, Title: a.Title, Labels: a.Labels,
		Producer: rowProducer{a.Producer.Harness, a.PublishedBy().Agent}}
	if r.Producer.Agent != "" {
		r.Producer.Harness = ""
	}
	if !isOwn(w, a) {
		r.Worktree, r.File = a.Worktree, &a.File
	}
	if a.Status != handoff.Active {
		r.Status = a.Status
	}
	if a.Revision > 1 {
		r.Revision = a.Revision
	}
	for _, code := range handoff.Codes(a.Notices()) {
		r.Notices = append(r.Notices, rowNotice{code})
	}
	return r
}

func newRows(w *workspace.Workspace, list []handoff.Artifact) []row {
	rows := make([]row, len(list))
	for i, a := range list {
		rows[i] = newRow(w, a)
	}
	return rows
}

// isOwn reports whether the path of an artifact is that of its file, seen from the
// directory of the workspace that the caller works in.
func isOwn(w *workspace.Workspace, a handoff.Artifact) bool {
	return a.File == filepath.Join(w.Root(), filepath.FromSlash(a.Path))
}

// line returns an artifact on one line of text, with the path at which the caller opens
// its file.
func line(w *workspace.Workspace, a handoff.Artifact) string {
	name := a.Path
	switch {
	case isOwn(w, a):
	case a.File != "":
		name = a.File
	default:
		name = "(not here) " + name
	}
	text := a.ID + "  " + a.Channel + "  " + printable.Word(name)
	if a.Title != "" {
		text += "  " + quoted(a.Title)
	}
	if by := a.PublishedBy().Name(); by != "" {
		text += "  by " + printable.Word(by)
	}
	var marks []string
	if a.Revision > 1 {
		marks = append(marks, fmt.Sprint("v", a.Revision))
	}
	marks = append(marks, a.Labels...)
	for _, code := range handoff.Codes(a.Notices()) {
		marks = append(marks, string(code))
	}
	if len(marks) > 0 {
		text += "  (" + strings.Join(marks, ", ") + ")"
	}
	return text
}

// lines returns one line for each artifact.
func lines(w *workspace.Workspace, list []handoff.Artifact) string {
	if len(list) == 0 {
		return "no artifacts"
	}
	text := make([]string, len(list))
	for i, a := range list {
		text[i] = line(w, a)
	}
	return strings.Join(text, "\n")
}

// described returns an artifact on a line, and its notices on lines of their own.
func described(w *workspace.Workspace, a handoff.Artifact) string {
	return line(w, a) + noticed(a.Notices())
}

// noticed returns each notice on a line of its own, after a line break. Its text can have
// words of others, such as the reason of a withdrawal.
func noticed(list []handoff.Notice) (text string) {
	for _, n := range list {
		severity, words, _ := strings.Cut(n.String(), ": ")
		text += "\n" + severity + ": " + quoted(words)
	}
	return text
}
