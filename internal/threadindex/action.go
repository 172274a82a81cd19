package threadindex

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// An action is what a call did, as far as its input and output show it.
type action struct {
	paths   []string // files that it names, as recorded
	access  Access   // to these files
	command string   // that it ran
	exit    *int     // exit status of the command, nil if it is not reported
	names   []string // artifacts and commits that its output reports
}

// text returns what is searched of an action.
func (a action) text() string {
	parts := slices.Clone(a.paths)
	if a.command != "" {
		parts = append(parts, a.command)
	}
	if a.exit != nil {
		parts = append(parts, "exit "+strconv.Itoa(*a.exit))
	}
	return strings.Join(append(parts, a.names...), "\n")
}

// inspect returns what a call did.
func inspect(c thread.Call) (a action) {
	a.access = accessOf(c.Name)
	input := jsonl.Value(c.Input)
	if input.Kind() != jsonl.Object {
		a.patch(c.Input)
		return a
	}
	for m := input.Members(); m.Next(); {
		switch name := string(m.Name()); name {
		case "file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "file":
			if path := m.Value().Text(); m.Value().Kind() == jsonl.String && len(path) < maxPath && !strings.Contains(path, "\n") {
				a.paths = append(a.paths, path)
			}
		case "command", "cmd", "script":
			a.command = commandLine(m.Value())
		case "input", "patch", "patchText":
			a.patch(m.Value().Text())
		}
	}
	if access, ok := editorCommands[a.command]; ok && len(a.paths) > 0 {
		a.access, a.command = access, ""
	}
	if a.command != "" {
		a.patch(a.command)
		a.exit = exitStatus(c)
		a.names = reported(c.Output)
	} else if c.Failed {
		a.access = Named // it has neither read nor changed them
	}
	return a
}

const maxPath = 4096

// commandLine returns a command that is a text or a list of arguments.
func commandLine(v jsonl.Value) string {
	if v.Kind() != jsonl.Array {
		return v.Text()
	}
	var args []string
	for c := v.Elements(); c.Next(); {
		args = append(args, c.Value().Text())
	}
	return strings.Join(args, " ")
}

// accessOf returns the access of a tool with this name to the files that it names.
func accessOf(name string) Access {
	lower := strings.ToLower(name)
	for _, verb := range []string{"write", "edit", "patch", "replace", "create", "delete", "insert", "rename"} {
		if strings.Contains(lower, verb) {
			return Written
		}
	}
	for _, verb := range []string{"read", "view", "open"} {
		at := strings.Index(lower, verb)
		if at == 0 || at > 0 && (!isLetter(lower[at-1]) || name[at] < 'a') { // a word in read_file, file-read, NotebookRead
			return Read
		}
	}
	return Named
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }

// editorCommands are the commands of a tool that edits the file in its input, which are
// not run.
var editorCommands = map[string]Access{"view": Read, "create": Written, "str_replace": Written, "insert": Written, "undo_edit": Written, "delete": Written, "rename": Written}

// patch adds the files of a patch in the format of apply_patch.
func (a *action) patch(text string) {
	if !strings.Contains(text, "*** Begin Patch") {
		return
	}
	for line := range strings.Lines(text) {
		for _, header := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), header); ok && len(path) < maxPath {
				a.paths, a.access = append(a.paths, path), Written
			}
		}
	}
}

var exits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:exit code:? |exited with code |exit status |"exit_code":\s?)(\d{1,3})\b`)
})

// exitStatus returns the exit status that the output of a call reports, at its
// beginning or end.
func exitStatus(c thread.Call) *int {
	const part = 500
	out := c.Output
	if c.Exit != nil {
		return c.Exit
	}
	if len(out) > 2*part {
		out = out[:part] + "\n" + out[len(out)-part:]
	}
	if m := exits().FindStringSubmatch(out); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return &n
		}
	}
	return nil
}

// absolute returns a path as the tool meant it, "" if that is unknown.
func absolute(cwd, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case filepath.IsAbs(cwd):
		return filepath.Join(cwd, path)
	}
	return ""
}
