package evidence

import (
	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// redactArgv returns an argument vector with its secrets replaced, and its digest if
// it has any.
func redactArgv(argv []string) (redacted []string, digest string) {
	redacted, any := handoff.RedactStrings(argv)
	if line, ok := cmdline.Script(argv); ok {
		if line, found := redactLine(line); found {
			redacted[2], any = line, true
		}
	}
	if any {
		digest = cmdline.Digest(argv)
	}
	return redacted, digest
}

// redactLine returns a command line with its secrets replaced.
func redactLine(line string) (redacted string, any bool) {
	if list, ok := cmdline.Split(line); ok {
		if list, any = handoff.RedactStrings(list); any {
			return cmdline.Join(list), true
		}
	}
	return handoff.RedactText(line)
}

// redactCommand replaces the secrets of the command of e.
func redactCommand(e *handoff.Evidence) {
	if line, any := redactLine(e.Command); any {
		e.Command, e.CommandDigest = line, cmdline.LineDigest(e.Command)
	}
}

// commandLine returns the command that a call ran, "" if it ran none.
func commandLine(c thread.Call) string {
	input := jsonl.Value(c.Input)
	if input.Kind() != jsonl.Object {
		return ""
	}
	for _, name := range []string{"command", "cmd", "script"} {
		switch v := input.Get(name); v.Kind() {
		case jsonl.String:
			return v.Text()
		case jsonl.Array:
			var argv []string
			for e := v.Elements(); e.Next(); {
				argv = append(argv, e.Value().Text())
			}
			if line, ok := cmdline.Script(argv); ok {
				return line
			}
			return cmdline.Join(argv)
		}
	}
	return ""
}
