package threadindex

import (
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/transcript/action"
	"github.com/agent-handoff/handoff/thread"
)

// A Place is where in a thread something happened.
type Place struct {
	URI thread.URI `json:"uri"` // of the message
	At  time.Time  `json:"createdAt,omitzero"`
}

// A Touch is a call that names a file.
type Touch struct {
	Place
	Path   string        `json:"path"`   // absolute
	Access action.Access `json:"access"` // copies of calls in forks are Named
}

// A Command is a command that a call ran. Copies of calls in forks are left out.
type Command struct {
	Place
	Cwd    string `json:"cwd,omitempty"`          // of the thread
	Line   string `json:"command"`                // at most MaxCommand bytes
	Exit   *int   `json:"exitStatus,omitempty"`   // as recorded by the tool, beside the output
	Failed bool   `json:"failed,omitempty"`       // as recorded by the tool
	Output string `json:"outputDigest,omitempty"` // see thread.Call.OutputDigest; "" for a call without a result
}

// MaxCommand is how many bytes of a command are kept.
const MaxCommand = 4096

// A Where is the part of a thread that names something.
type Where string

// The parts.
const (
	InMessage Where = "message"
	InInput   Where = "input" // of a call
	InOutput  Where = "output"
	Committed Where = "commit" // the output of git commit, which made it
)

// A Mention is an artifact or a commit that a thread names. Copies of records in
// forks are left out.
type Mention struct {
	Place
	Name  string `json:"name"` // ID of the artifact or commit; that of a commit may be shortened if Where is Committed
	Where Where  `json:"where"`

	// Command is the one that made the commit, if Where is Committed and the message
	// ran only one that may have.
	Command string `json:"command,omitempty"`
}

// The same as they are kept of an entry.
type (
	touch struct {
		n      int // of the message, 0 if the call is before the first
		at     time.Time
		path   string
		access action.Access
	}
	command struct {
		n      int
		at     time.Time
		line   string
		exit   *int
		failed bool
		output string // digest
	}
	mention struct {
		n     int
		at    time.Time
		name  string
		where Where
	}
)

// maxRows is how many touches, commands and mentions of a thread are kept, each.
const maxRows = 1 << 16

// touch adds the files that a call names.
func (e *entry) touch(a action.Action, at time.Time) {
	for _, path := range a.Paths {
		if path = action.Absolute(e.Cwd, path); path != "" && e.before.Touches+len(e.touches) < maxRows {
			e.touches = append(e.touches, touch{e.last, at.UTC(), path, a.Access})
		}
	}
}

// command adds the command of a call.
func (e *entry) command(a action.Action, call thread.Call) {
	if a.Command == "" || e.before.Commands+len(e.commands) == maxRows {
		return
	}
	c := command{e.last, call.Time.UTC(), strings.ToValidUTF8(a.Command[:min(len(a.Command), MaxCommand)], ""), call.Exit,
		call.Failed, ""}
	if !call.Pending {
		c.output = call.OutputDigest()
	}
	e.commands = append(e.commands, c)
}

// mention adds the names in a part of a message, once for each message.
func (e *entry) mention(where Where, at time.Time, lists ...[]string) {
	for _, names := range lists {
		for _, name := range names {
			if n, ok := e.mentioned[name]; e.before.Mentions+len(e.mentions) == maxRows || ok && n == e.last &&
				where != Committed {
				continue
			}
			e.mentioned[name] = e.last
			e.mentions = append(e.mentions, mention{e.last, at.UTC(), name, where})
		}
	}
}
