package cli

import (
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/textfmt"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/workspace/news"
)

// commandLines has the command of each action. Each % is replaced with an operand.
// Renaming a command changes its lines here and its own file, nothing else.
var commandLines = map[handoff.Action]string{
	handoff.ActionList:         "list",
	handoff.ActionListAll:      "list --all",
	handoff.ActionShow:         "show %",
	handoff.ActionHistory:      "show % --history",
	handoff.ActionRead:         "read %",
	handoff.ActionReadTo:       "read % --to %",
	handoff.ActionPublish:      "publish % --channel CHANNEL",
	handoff.ActionPublishIn:    "publish % --channel %",
	handoff.ActionPublishAs:    "publish PATH --channel CHANNEL --replaces %",
	handoff.ActionStdin:        "publish - --channel CHANNEL",
	handoff.ActionWrite:        "write % %",
	handoff.ActionWriteFor:     "write % % --session %",
	handoff.ActionWriteRun:     "write % % --session % --run %",
	handoff.ActionWatchAfter:   "watch --after %",
	handoff.ActionThread:       "thread %",
	handoff.ActionContinue:     "continue %",
	handoff.ActionContinueIn:   "continue % --in %",
	handoff.ActionListBy:       "list --all --% %",
	handoff.ActionSessionsBy:   "session find --% %",
	handoff.ActionCost:         "cost %",
	handoff.ActionNews:         "news",
	handoff.ActionNewsSince:    "news --since %",
	handoff.ActionCosts:        "cost --by %",
	handoff.ActionChannels:     "list --channels",
	handoff.ActionWhy:          "why %",
	handoff.ActionVerify:       "verify %",
	handoff.ActionApprove:      "review % --approve",
	handoff.ActionAccept:       "accept %",
	handoff.ActionCompare:      "compare %",
	handoff.ActionPublishKept:  "publish PATH --channel CHANNEL --keep --replaces %",
	handoff.ActionThreadHead:   "thread % -I --json",
	handoff.ActionSubagents:    "thread % --list",
	handoff.ActionSessions:     "session find",
	handoff.ActionSessionsOf:   "session find --agent %",
	handoff.ActionOpen:         "session open --agent NAME --workflow NAME",
	handoff.ActionClose:        "session close --session % --status %",
	handoff.ActionAdd:          "session add % --type % --session %",
	handoff.ActionAdopt:        "import % --lenient",
	handoff.ActionExplain:      "config explain %",
	handoff.ActionSettings:     "config",
	handoff.ActionTrust:        "config trust %",
	handoff.ActionSet:          "config set % %",
	handoff.ActionLogStatus:    "log",
	handoff.ActionSend:         "log send",
	handoff.ActionCheck:        "check",
	handoff.ActionSetUp:        "init",
	handoff.ActionSetUpProgram: "init --agent %",
	handoff.ActionSetUpProject: "init --project --agent %",
	handoff.ActionGarbage:      "gc",
	handoff.ActionRepair:       "check --repair",
	handoff.ActionNext:         "pipeline next %",
	handoff.ActionStart:        "pipeline init %",
	handoff.ActionStartAgain:   "pipeline start % % --as % --again",
	handoff.ActionSubmit:       "pipeline put % % %",
	handoff.ActionArchive:      "pipeline archive %",
	handoff.ActionRuns:         "pipeline list",
	handoff.ActionRestoreRun:   "pipeline init % --restore",
	handoff.ActionRewrite:      "pipeline get % % --restore",
	handoff.ActionRestore:      "session delete --undo %",
	handoff.ActionUnarchive:    "pipeline unarchive %",
	handoff.ActionWithdraw:     "withdraw %",
	handoff.ActionGate:         "pipeline gate % %",
	handoff.ActionDerive:       "show % --state",
	handoff.ActionSchema:       "pipeline schema %",
	handoff.ActionRunSchema:    "pipeline schema % --issue %",
	handoff.ActionExample:      "pipeline schema % --example --issue %",
	handoff.ActionValidateAs:   "pipeline validate % --stage %",
}

// CommandLine returns the command that performs an action, as a person would
// type it.
func CommandLine(action handoff.Action, args ...string) string {
	line := commandLines[action]
	for _, arg := range args {
		if !strings.Contains(line, "%") {
			line += " %"
		}
		line = strings.Replace(line, "%", strings.ReplaceAll(textfmt.ShellWord(arg), "%", "\x00"), 1)
	}
	return Name() + " " + strings.ReplaceAll(line, "\x00", "%")
}

// Settle returns the command that settles a need: the one of its hint or, for a thread that failed, the
// one with which its program resumes it.
func (a *App) Settle(n news.Need) string {
	if n.Resume != nil {
		return textfmt.ResumeLine(n.Dir, n.Resume)
	}
	args := make([]string, len(n.Settle.Args))
	for i, arg := range n.Settle.Args {
		if args[i] = arg; a.AsJSON {
			continue
		}
		if u, err := thread.ParseURI(arg); err == nil && a.Terminal && thread.IsUUID(u.Thread) {
			arg = u.Thread // whose beginning is enough
		}
		args[i] = a.Short(arg)
	}
	return CommandLine(n.Settle.Action, args...)
}

// HintText words a hint for the command line.
func HintText(h handoff.Hint) string {
	if h.Action == "" {
		return h.WithVariable(h.Text)
	}
	if h.Action == handoff.ActionAllowSecret {
		return h.Text + "; --allow-secret records it anyway"
	}
	run := "run: " + CommandLine(h.Action, h.Args...)
	if h.Text == "" {
		return h.WithVariable(run)
	}
	return h.WithVariable("to " + h.Text + ", " + run)
}
