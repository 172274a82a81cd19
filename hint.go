package handoff

import (
	"errors"
	"strings"
	"syscall"
)

// A Hint suggests how to fix an [Error]. It names no command: every surface
// words it for its own users, a command line as a command, MCP as a tool.
type Hint struct {
	// Text is advice in plain words. With an Action it is what the action is
	// for, as a verb phrase: "list every artifact".
	Text   string
	Action Action
	Args   []string // the operands of Action, in its order

	// Variable is what a variable of the environment can be set to instead, such as
	// "HANDOFF_DIR to a writable directory". Not every caller can set one.
	Variable string
}

// Advice returns a Hint without an action.
func Advice(text string) Hint { return Hint{Text: text} }

// Suggest returns a Hint that names an action and what it is for.
func Suggest(text string, action Action, args ...string) Hint {
	return Hint{Text: text, Action: action, Args: args}
}

// OrSet returns the hint with a variable, see Hint.Variable.
func (h Hint) OrSet(variable string) Hint {
	h.Variable = variable
	return h
}

// WithVariable returns a text of the hint, extended by its variable, for those who can
// set one.
func (h Hint) WithVariable(text string) string {
	switch {
	case h.Variable == "":
		return text
	case text == "":
		return "set " + h.Variable
	}
	return text + ", or set " + h.Variable
}

// UnwritableHint returns the hint for a directory of handoff that can't be written.
// A file system that is read-only is most often that of an agent's sandbox, which
// must let the agent write to the directory: another one would cut it off from
// the other agents.
func UnwritableHint(dir string, err error) Hint {
	if errors.Is(err, syscall.EROFS) {
		return Suggest("let the sandbox of an agent write to "+dir, ActionSetUp)
	}
	return Hint{}.OrSet("HANDOFF_DIR to a writable directory")
}

// IsZero reports whether the hint is empty.
func (h Hint) IsZero() bool { return h.Text == "" && h.Action == "" && h.Variable == "" }

// String returns the hint in words that name no command.
func (h Hint) String() string {
	if h.Action == "" {
		return h.WithVariable(h.Text)
	}
	s := strings.Join(append([]string{string(h.Action)}, h.Args...), " ")
	if h.Text == "" {
		return h.WithVariable(s)
	}
	return h.WithVariable(s + " to " + h.Text)
}

// An Action is an operation of handoff that a Hint can suggest.
type Action string

// The actions, with their operands.
const (
	ActionList                        Action = "list artifacts"
	ActionListAll                     Action = "list all artifacts" // of every status
	ActionShow                        Action = "show"               // REF
	ActionHistory                     Action = "show history"       // REF
	ActionRead                        Action = "read"               // REF
	ActionReadTo                      Action = "read to"            // REF PATH
	ActionPublish                     Action = "publish"            // PATH, of the viewer's pages
	ActionPublishIn                   Action = "publish in channel" // PATH CHANNEL
	ActionPublishAs                   Action = "publish replacing"  // REF
	ActionStdin                       Action = "publish from standard input"
	ActionWrite                       Action = "write"               // NAME PATH
	ActionWriteFor                    Action = "write for session"   // NAME PATH SESSION
	ActionWriteRun                    Action = "write for run"       // NAME PATH SESSION RUN
	ActionWatchAfter                  Action = "watch after"         // SEQ
	ActionListBy                      Action = "list artifacts with" // FIELD VALUE
	ActionSessionsBy                  Action = "list sessions with"  // FIELD VALUE
	ActionCost                        Action = "show cost"           // NAME
	ActionNews                        Action = "show news"
	ActionNewsSince                   Action = "show news since" // TIME
	ActionCosts                       Action = "show costs by"   // GROUP
	ActionChannels                    Action = "list channels"
	ActionWhy                         Action = "trace"                                  // REF
	ActionVerify                      Action = "verify claims"                          // REF
	ActionApprove                     Action = "approve"                                // REF
	ActionAccept                      Action = "accept"                                 // REF
	ActionCompare                     Action = "compare"                                // REF
	ActionPublishKept                 Action = "publish and keep"                       // REF
	ActionThread                      Action = "open thread"                            // URI
	ActionContinue                    Action = "continue thread"                        // URI
	ActionContinueIn                  Action = "continue thread in"                     // URI PROGRAM
	ActionThreadHead, ActionSubagents Action = "show thread metadata", "list subagents" // URI
	ActionSessions                    Action = "list sessions"
	ActionSessionsOf                  Action = "list sessions of agent" // AGENT
	ActionOpen                        Action = "open session"
	ActionClose                       Action = "close session"    // SESSION STATUS
	ActionAdd                         Action = "add output"       // FILE TYPE SESSION
	ActionAdopt                       Action = "adopt leniently"  // DIR
	ActionExplain                     Action = "explain variable" // NAME
	ActionSettings                    Action = "list settings"
	ActionTrust                       Action = "trust log"   // URL
	ActionSet                         Action = "set setting" // NAME VALUE
	ActionAllowSecret                 Action = "allow secret"
	ActionLogStatus                   Action = "show log status"
	ActionSend                        Action = "send queued records"
	ActionCheck                       Action = "check"
	ActionSetUp                       Action = "set up agents"
	ActionSetUpProgram                Action = "set up program"            // NAME
	ActionSetUpProject                Action = "set up program in project" // NAME
	ActionGarbage                     Action = "list unneeded bodies"
	ActionRepair                      Action = "repair"
	ActionNext                        Action = "next stage"           // ISSUE
	ActionStart                       Action = "start pipeline run"   // ISSUE
	ActionStartAgain                  Action = "start stage again"    // ISSUE STAGE AGENT
	ActionSubmit                      Action = "submit stage"         // ISSUE NAME PATH
	ActionArchive                     Action = "archive pipeline run" // ISSUE
	ActionRuns                        Action = "list pipeline runs"
	ActionRestoreRun                  Action = "restore pipeline run"   // ISSUE
	ActionRewrite                     Action = "restore stage file"     // ISSUE STAGE
	ActionRestore                     Action = "restore session"        // SESSION
	ActionUnarchive                   Action = "unarchive pipeline run" // NAME
	ActionWithdraw                    Action = "withdraw"               // REF
	ActionGate                        Action = "check gate"             // ISSUE STAGE
	ActionDerive                      Action = "derive pipeline state"  // ISSUE
	ActionSchema                      Action = "print stage schema"     // STAGE
	ActionRunSchema                   Action = "print run stage schema" // STAGE, ISSUE
	ActionExample                     Action = "print stage example"    // STAGE, ISSUE
	ActionValidateAs                  Action = "validate as stage"      // PATH STAGE
)
