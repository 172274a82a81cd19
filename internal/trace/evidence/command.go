package evidence

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/thread"
)

// words splits a command line as a shell does. ok is false if a shell would do more
// than start one program with these arguments.
func words(line string) (list []string, ok bool) {
	var word strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if open {
				list = append(list, word.String())
				word.Reset()
			}
			open = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote:
			quote = 0
		case quote != '\'' && (c == '\\' || c == '$' || c == '`'), quote == 0 &&
			strings.IndexByte("|&;<>()*?[]{}~#!\n\r", c) >= 0:
			return nil, false
		default:
			word.WriteByte(c)
		}
		open = true
	}
	if open {
		list = append(list, word.String())
	}
	return list, quote == 0 && len(list) > 0
}

// sameCommand reports whether two command lines run the same program with the same
// arguments. Those that need a shell must be equal.
func sameCommand(a, b string) bool {
	if strings.TrimSpace(a) == strings.TrimSpace(b) {
		return true
	}
	left, ok := words(a)
	right, also := words(b)
	return ok && also && slices.Equal(left, right)
}

// runs reports whether argv is what a command line starts.
func runs(argv []string, line string) bool {
	if script, ok := script(argv); ok && sameCommand(script, line) {
		return true
	}
	list, ok := words(line)
	return ok && slices.Equal(list, argv)
}

// attests reports whether an attestation is of the command of e. If one of them has
// secrets, their digests are compared.
func attests(at *handoff.Attestation, e handoff.Evidence) bool {
	if at.ArgvDigest == "" && e.CommandDigest == "" {
		return runs(at.Argv, e.Command)
	}
	return cmp.Or(at.ArgvDigest, commandDigest(canonical(at.Argv))) == cmp.Or(e.CommandDigest,
		commandDigest(canonicalLine(e.Command)))
}

// redactArgv returns an argument vector with its secrets replaced, and its digest if
// it has any.
func redactArgv(argv []string) (redacted []string, digest string) {
	redacted, any := handoff.RedactStrings(argv)
	if line, ok := script(argv); ok {
		if line, found := redactLine(line); found {
			redacted[2], any = line, true
		}
	}
	if any {
		digest = commandDigest(canonical(argv))
	}
	return redacted, digest
}

// redactLine returns a command line with its secrets replaced.
func redactLine(line string) (redacted string, any bool) {
	if list, ok := words(line); ok {
		if list, any = handoff.RedactStrings(list); any {
			return quote(list), true
		}
	}
	return handoff.RedactText(line)
}

// redactCommand replaces the secrets of the command of e.
func redactCommand(e *handoff.Evidence) {
	if line, any := redactLine(e.Command); any {
		e.Command, e.CommandDigest = line, commandDigest(canonicalLine(e.Command))
	}
}

// commandDigest returns the digest of a command in its canonical form.
func commandDigest(form string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(form))) }

// canonical returns the same text for all argument vectors that run the same program
// with the same arguments: a JSON array of them, or a line that needs a shell.
func canonical(argv []string) string {
	if line, ok := script(argv); ok {
		return canonicalLine(line)
	}
	b, _ := handoff.EncodeJSON(argv) // of strings, it can't fail
	return string(b)
}

func canonicalLine(line string) string {
	if list, ok := words(line); ok {
		return canonical(list)
	}
	return strings.TrimSpace(line)
}

// script returns the command line that argv passes to a shell.
func script(argv []string) (string, bool) {
	if len(argv) != 3 || !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, path.Base(argv[0])) {
		return "", false
	}
	return argv[2], argv[1] == "-c" || argv[1] == "-lc"
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
			if line, ok := script(argv); ok {
				return line
			}
			return quote(argv)
		}
	}
	return ""
}

// quote returns a command line that words splits into argv.
func quote(argv []string) string {
	list := make([]string, len(argv))
	for i, arg := range argv {
		if split, ok := words(arg); !ok || len(split) != 1 || split[0] != arg {
			arg = "'" + strings.ReplaceAll(arg, "'", `'"'"'`) + "'"
		}
		list[i] = arg
	}
	return strings.Join(list, " ")
}
