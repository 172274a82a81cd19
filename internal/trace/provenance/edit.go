package provenance

import (
	"cmp"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
)

// An edit is what a call does to the bytes of a file, as far as its input shows it.
type edit struct {
	complete bool // the file has exactly content afterwards
	content  string
	changes  []change
}

// A change replaces one text by another, in all occurrences or in the first one.
// Without an old text, the new one is appended.
type change struct {
	old, new string
	all      bool
}

// known reports whether the input shows what the call wrote.
func (e edit) known() bool { return e.complete || len(e.changes) > 0 }

// apply returns a file after the edit, and whether the edit applies to it.
func (e edit) apply(file string) (string, bool) {
	if e.complete {
		return e.content, true
	}
	for _, c := range e.changes {
		switch {
		case c.old == "":
			file += c.new
		case !strings.Contains(file, c.old):
			return "", false
		case c.all:
			file = strings.ReplaceAll(file, c.old, c.new)
		default:
			file = strings.Replace(file, c.old, c.new, 1)
		}
	}
	return file, len(e.changes) > 0
}

// lines returns the lines that the edit writes, without blank ones and those that it
// replaces by themselves.
func (e edit) lines() (list []string) {
	add := func(text, old string) {
		kept := map[string]bool{"": true}
		for line := range strings.Lines(old) {
			kept[strings.TrimSpace(line)] = true
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !kept[line] {
				list = append(list, line)
			}
		}
	}
	add(e.content, "")
	for _, c := range e.changes {
		add(c.new, c.old)
	}
	return list
}

// clipped is the end of an input that thread.Clip has shortened.
const clipped = " more bytes)"

// editOf returns what a call does to a file. dir is the working directory.
func editOf(c thread.Call, dir, file string) edit {
	if strings.HasSuffix(c.Input, clipped) {
		return edit{}
	}
	input := jsonl.Value(c.Input)
	if input.Kind() != jsonl.Object {
		return patchOf(c.Input, dir, file)
	}
	if e := patchOf(first(input, "input", "patch", "patchText", "command", "cmd"), dir, file); e.known() {
		return e
	}
	for m := input.Members(); m.Next(); {
		switch string(m.Name()) {
		case "content", "contents", "file_text":
			if m.Value().Kind() == jsonl.String {
				return edit{complete: true, content: m.Value().Text()}
			}
		case "edits":
			var e edit
			for v := m.Value().Elements(); v.Next(); {
				e.replace(v.Value())
			}
			return e
		}
	}
	var e edit
	e.replace(input)
	return e
}

// replace adds the replacement that an input describes.
func (e *edit) replace(input jsonl.Value) {
	c := change{old: first(input, "old_string", "oldString", "old_str", "oldText"),
		new: first(input, "new_string", "newString", "new_str", "newText")}
	for m := input.Members(); m.Next(); {
		if name := string(m.Name()); name == "replace_all" || name == "replaceAll" {
			c.all = m.Value().True()
		}
	}
	if c.old != "" || c.new != "" {
		e.changes = append(e.changes, c)
	}
}

// first returns the text of the first of some members of an object that it has. The
// text may be the last element of a list of arguments.
func first(v jsonl.Value, names ...string) string {
	for _, name := range names {
		for m := v.Members(); m.Next(); {
			if string(m.Name()) != name {
				continue
			}
			text := m.Value()
			if text.Kind() == jsonl.Array {
				for c := m.Value().Elements(); c.Next(); {
					text = c.Value()
				}
			}
			return text.Text()
		}
	}
	return ""
}

// patchOf returns what the patches in a text do to a file. A file that they move is
// known by its new path.
func patchOf(text, dir, file string) (e edit) {
	for _, f := range action.Patches(text) {
		switch {
		case action.Absolute(dir, cmp.Or(f.To, f.Path)) != file:
		case f.Add:
			e = edit{complete: true}
			for _, line := range f.Lines {
				e.content += strings.TrimPrefix(line, "+") + "\n"
			}
		default:
			e.hunks(f.Lines)
		}
	}
	return e
}

// hunks adds the changes that the lines of a patch are.
func (e *edit) hunks(lines []string) {
	var hunk change
	flush := func() {
		if hunk != (change{}) {
			e.changes = append(e.changes, hunk)
		}
		hunk = change{}
	}
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "@@"):
			flush()
		case strings.HasPrefix(line, "+"):
			hunk.new += line[1:] + "\n"
		case strings.HasPrefix(line, "-"):
			hunk.old += line[1:] + "\n"
		default: // context; models leave out the space of an empty line
			line = strings.TrimPrefix(line, " ") + "\n"
			hunk.old, hunk.new = hunk.old+line, hunk.new+line
		}
	}
	flush()
}
