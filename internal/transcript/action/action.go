// Package action determines what the calls of tools did: the files that they read or
// wrote, the commands that they ran, and the artifacts and commits that they name.
package action

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// An Access is what a call did with a file that its input names.
type Access string

// The accesses. Files of calls that are not done are Named.
const (
	Named    Access = "named" // such as the directory of a search
	Read     Access = "read"
	Written  Access = "written"
	Inferred Access = "inferred" // they may be Written: the call is inferred
)

// An Action is what a call did, as far as its input and output show it.
type Action struct {
	Paths   []string // files that it names, as recorded, or in the directory of the call if that is recorded
	Access  Access   // to these files
	Command string   // that it ran
	Exit    string   // exit status of the command as the call or its output has it, "" if there is none
	Names   []string // artifacts and commits that its output reports
}

// Text returns what is searched of an action.
func (a Action) Text() string {
	parts := slices.Clone(a.Paths)
	if a.Command != "" {
		parts = append(parts, a.Command)
	}
	if a.Exit != "" {
		parts = append(parts, "exit "+a.Exit)
	}
	return strings.Join(append(parts, a.Names...), "\n")
}

// Inspect returns what a call did.
func Inspect(c thread.Call) Action {
	a := inspect(c)
	switch {
	case !c.Done(), c.Inferred && a.Access == Read:
		a.Access = Named // it has neither read nor changed them, as far as that is known
	case c.Inferred && a.Access == Written:
		a.Access = Inferred
	}
	for i, path := range a.Paths {
		if in := Absolute(c.Dir, path); in != "" {
			a.Paths[i] = in
		}
	}
	return a
}

func inspect(c thread.Call) (a Action) {
	a.Access = accessOf(c.Name)
	input := jsonl.Value(c.Input)
	if input.Kind() != jsonl.Object {
		if strings.HasPrefix(strings.TrimSpace(c.Input), patchStart) { // not a script that has one
			a.patch(c.Input)
		}
		return a
	}
	for m := input.Members(); m.Next(); {
		switch name := string(m.Name()); name {
		case "file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file", "file":
			if path := m.Value().Text(); m.Value().Kind() == jsonl.String && len(path) < maxPath &&
				!strings.Contains(path, "\n") {
				a.Paths = append(a.Paths, path)
			}
		case "command", "cmd", "script":
			a.Command = commandLine(m.Value(), " ")
		case "commands":
			a.Command = commandLine(m.Value(), "\n")
		case "input", "patch", "patchText":
			a.patch(m.Value().Text())
		}
	}
	if access, ok := editorCommands[a.Command]; ok && len(a.Paths) > 0 {
		a.Access, a.Command = access, ""
	}
	if a.Command != "" {
		a.patch(a.Command)
		a.Exit = exitStatus(c)
		a.Names = reported(c.Output)
	}
	return a
}

const maxPath = 4096

// commandLine returns a command that is a text, or a list of arguments or commands, which
// are separated by sep.
func commandLine(v jsonl.Value, sep string) string {
	if v.Kind() != jsonl.Array {
		return v.Text()
	}
	var args []string
	for c := v.Elements(); c.Next(); {
		args = append(args, c.Value().Text())
	}
	return strings.Join(args, sep)
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
var editorCommands = map[string]Access{"view": Read, "create": Written, "str_replace": Written, "insert": Written,
	"undo_edit": Written, "delete": Written, "rename": Written}

// patch adds the files of the patches in a text.
func (a *Action) patch(text string) {
	for _, f := range Patches(text) {
		for _, path := range []string{f.Path, f.To} {
			if path != "" && len(path) < maxPath {
				a.Paths, a.Access = append(a.Paths, path), Written
			}
		}
	}
}

var exits = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:exit code:? |exited with code |exit status |"exit_code":\s?)(\d{1,3})\b`)
})

// exitStatus returns the exit status that the output of a call reports, at its
// beginning or end.
func exitStatus(c thread.Call) string {
	const part = 500
	out := c.Output
	if c.Exit != nil {
		return strconv.Itoa(*c.Exit)
	}
	if len(out) > 2*part {
		out = out[:part] + "\n" + out[len(out)-part:]
	}
	if !strings.Contains(out, "xit") && !strings.Contains(out, "XIT") {
		return ""
	}
	if m := exits().FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}

// Absolute returns a path as the tool meant it, "" if that is unknown.
func Absolute(cwd, path string) string {
	switch {
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case filepath.IsAbs(cwd):
		return filepath.Join(cwd, path)
	}
	return ""
}
