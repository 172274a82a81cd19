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
	write   bool     // it changes these files
	command string   // that it ran
	exit    string   // exit status of the command, "" if it is not reported
	names   []string // artifacts and commits that its output reports
}

// text returns what is searched of an action.
func (a action) text() string {
	parts := slices.Clone(a.paths)
	if a.command != "" {
		parts = append(parts, a.command)
	}
	if a.exit != "" {
		parts = append(parts, "exit "+a.exit)
	}
	return strings.Join(append(parts, a.names...), "\n")
}

// inspect returns what a call did.
func inspect(c thread.Call) (a action) {
	a.write = isWrite(c.Name)
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
	if a.command != "" {
		a.patch(a.command)
		a.exit = exitStatus(c)
		a.names = reported(c.Output)
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

// isWrite reports whether a tool with this name changes the files that it names.
func isWrite(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"write", "edit", "patch", "replace", "create", "delete", "insert", "rename"}, func(verb string) bool {
		return strings.Contains(name, verb)
	})
}

// patch adds the files of a patch in the format of apply_patch.
func (a *action) patch(text string) {
	if !strings.Contains(text, "*** Begin Patch") {
		return
	}
	for line := range strings.Lines(text) {
		for _, header := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), header); ok && len(path) < maxPath {
				a.paths, a.write = append(a.paths, path), true
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
	if m := exits().FindStringSubmatch(out); m != nil {
		return m[1]
	}
	return ""
}

var (
	artifactID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bart_[0-9A-Za-z]{26}\b`) })
	commitLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\[[^\]\n]+ ([0-9a-f]{7,40})\] `) }) // of git commit
)

// reported returns the IDs of artifacts and commits in the output of a command.
func reported(out string) (names []string) {
	const most = 64
	if strings.Contains(out, "art_") {
		names = artifactID().FindAllString(out, most)
	}
	if strings.Contains(out, "] ") {
		for _, m := range commitLine().FindAllStringSubmatch(out, most) {
			names = append(names, m[1])
		}
	}
	return names
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
