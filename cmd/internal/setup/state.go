package setup

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A Note is when a program last called handoff.
type Note struct {
	LastHook    time.Time `json:"lastHook,omitzero"`
	LastCall    time.Time `json:"lastCall,omitzero"` // of a tool
	LastFailure time.Time `json:"lastFailure,omitzero"`
	Failure     string    `json:"failure,omitempty"` // of a hook
}

// noteEvery is how often the same kind of call is noted.
const noteEvery = time.Minute

// maxNote is the largest note that is read.
const maxNote = 64 << 10

// readNote returns the note of a program, zero for none.
func readNote(dir, program string) (n Note) {
	data, err := plainfile.Read(noteFile(dir, program), maxNote)
	if err != nil || json.Unmarshal(data, &n) != nil {
		return Note{}
	}
	return n
}

func noteFile(dir, program string) string { return filepath.Join(dir, "clients", program+".json") }

// NoteHook notes that the hook of a program was called, and why it failed. Notes
// are for people who look for the cause of a failure: that one can't be written is
// ignored.
func NoteHook(dir, program string, now time.Time, failure error) {
	if !slices.Contains(Names(), program) {
		return
	}
	n := readNote(dir, program)
	if failure == nil && now.Sub(n.LastHook).Abs() < noteEvery {
		return
	}
	n.LastHook = now
	if failure != nil {
		n.LastFailure, n.Failure = now, failure.Error()
	}
	writeNote(dir, program, n)
}

// NoteCall notes that a program called a tool. A program is named by the first
// word of its harness.
func NoteCall(dir, harness string, now time.Time) {
	program, _, _ := strings.Cut(harness, "-")
	if !slices.Contains(Names(), program) {
		return
	}
	n := readNote(dir, program)
	if now.Sub(n.LastCall).Abs() < noteEvery {
		return
	}
	n.LastCall = now
	writeNote(dir, program, n)
}

func writeNote(dir, program string, n Note) {
	if b, err := json.Marshal(n); err == nil {
		_ = writeState(filepath.Dir(noteFile(dir, program)), program+".json", b)
	}
}

// writeState writes a file that nobody else can read: the journal has the content
// of other programs' files.
func writeState(dir, name string, content []byte) error {
	return failed(filepath.Join(dir, name), durable.ReplacePrivate(dir, name, content))
}

// registryName is the name of the file with the workspaces of the user.
const registryName = "workspaces"

// Registered returns the workspaces that the user registered: a server may be
// asked for them whatever directory its client works in.
func Registered(dir string) ([]string, error) {
	data, err := plainfile.Read(filepath.Join(dir, registryName), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(filepath.Join(dir, registryName), err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool {
		return !filepath.IsAbs(line)
	}), nil
}

// Register adds a workspace to those of the user.
func Register(dir, workspace string) error {
	known, err := Registered(dir)
	if err != nil || slices.Contains(known, workspace) || strings.ContainsAny(workspace, "\n\r") {
		return err
	}
	return writeState(dir, registryName, []byte(strings.Join(append(known, workspace), "\n")+"\n"))
}

// A Status is how handoff is set up in a program.
type Status struct {
	Client      string    `json:"client"`
	Installed   bool      `json:"installed"`  // the program is on PATH or has a directory
	Registered  bool      `json:"registered"` // every entry is in place
	Missing     []string  `json:"missing,omitempty"`
	Trusted     string    `json:"trusted"` // yes, no or unknown: whether the program trusts the directory
	LastHook    time.Time `json:"lastHook,omitzero"`
	LastCall    time.Time `json:"lastCall,omitzero"`
	LastFailure time.Time `json:"lastFailure,omitzero"`
	Failure     string    `json:"failure,omitempty"`
}

// Statuses returns the status of every program. dir is where the user works.
func Statuses(t Target, state, dir string, onPath func(string) bool) []Status {
	installed := Detect(t, onPath)
	j, err := OpenJournal(state)
	if err != nil {
		j = &Journal{} // a status is possible without it
	}
	var list []Status
	for _, name := range Names() {
		n := readNote(state, name)
		s := Status{Client: name, Installed: slices.Contains(installed, name), Trusted: trusted(t, name, dir),
			Missing:  missing(t, j, name),
			LastHook: n.LastHook, LastCall: n.LastCall, LastFailure: n.LastFailure, Failure: n.Failure}
		s.Registered = len(s.Missing) == 0
		list = append(list, s)
	}
	return list
}

// missing returns the files of a program that lack an entry.
func missing(t Target, j *Journal, name string) []string {
	programs, err := Plan(t, j, []string{name})
	if err != nil {
		return []string{err.Error()}
	}
	var files []string
	for _, p := range programs {
		if p.Err != nil {
			files = append(files, p.Err.Error())
		} else if len(p.Edits) == 0 {
			files = append(files, p.Todo...) // it has no files in a repository
		}
		for _, e := range p.Edits {
			if e.Changed() {
				files = append(files, e.File)
			}
		}
	}
	return files
}

// trusted returns whether a program trusts a directory, as far as its files say.
func trusted(t Target, name, dir string) string {
	switch name {
	case "claude":
		var c struct {
			Projects map[string]struct {
				Accepted bool `json:"hasTrustDialogAccepted"`
			} `json:"projects"`
		}
		data, err := plainfile.Read(claudeServers(t), maxFile)
		if err != nil || json.Unmarshal(data, &c) != nil {
			return "unknown"
		}
		return yes(c.Projects[dir].Accepted)
	case "gemini":
		var folders map[string]string
		data, err := plainfile.Read(filepath.Join(t.Home, ".gemini", "trustedFolders.json"), maxFile)
		if err != nil || json.Unmarshal(data, &folders) != nil {
			return "unknown"
		}
		return yes(folders[dir] == "TRUST_FOLDER")
	case "codex":
		t.Scope = User
		data, err := plainfile.Read(filepath.Join(codexDir(t), "config.toml"), maxFile)
		if err != nil {
			return "unknown"
		}
		config, err := tomlFormat{}.decode(data)
		if err != nil {
			return "unknown"
		}
		level, _ := lookup(config, []any{"projects", dir, "trust_level"})
		return yes(level == "trusted")
	}
	return "unknown"
}

func codexDir(t Target) string { return clients()["codex"].dir(t) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
