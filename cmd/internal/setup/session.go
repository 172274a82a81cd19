package setup

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// A running is a process of a program and the session that it works in. Only its
// hooks know the session; its shells and servers find it by the process.
type running struct {
	Harness string          `json:"harness"`
	Process handoff.Process `json:"process"`
	Session string          `json:"session"`
}

// maxRunning is how many processes are remembered.
const maxRunning = 50

func runningFile(dir string) string { return filepath.Join(dir, "clients", "running.json") }

func readRunning(dir string) (list []running) {
	data, err := plainfile.Read(runningFile(dir), maxNote)
	if err != nil || json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list
}

// NoteSession notes which session a process works in. That it can't be noted is
// ignored, as for all notes.
func NoteSession(dir, harness string, p handoff.Process, session string) {
	if p == (handoff.Process{}) || SessionOf(dir, harness, func() handoff.Process { return p }) == session {
		return
	}
	list := slices.DeleteFunc(readRunning(dir), func(r running) bool { return r.Process == p })
	list = append(list, running{harness, p, session})
	if b, err := json.Marshal(list[max(0, len(list)-maxRunning):]); err == nil {
		_ = writeState(filepath.Dir(runningFile(dir)), filepath.Base(runningFile(dir)), b)
	}
}

// SessionOf returns the session that a process of a program works in, "" if it is not known. process is called
// only if sessions of the program were noted.
func SessionOf(dir, harness string, process func() handoff.Process) string {
	list := slices.DeleteFunc(readRunning(dir), func(r running) bool { return r.Harness != harness })
	if len(list) == 0 {
		return ""
	}
	p := process()
	i := slices.IndexFunc(list, func(r running) bool { return r.Process == p && p != (handoff.Process{}) })
	if i < 0 {
		return ""
	}
	return list[i].Session
}
