package setup

import (
	"path"
	"slices"
	"strings"
)

// ownCommand reports whether words start handoff's server or one of its hooks:
// from any path, under both names, by a shell that looks for it, or by a runner of
// packages. The path does not count, because programs move.
func ownCommand(words []string) bool {
	for len(words) > 1 {
		switch name := programName(words[0]); name {
		case "handoff", "agent-handoff":
			verb := strings.TrimRight(words[1], ";")
			return verb == "mcp" || verb == "hook"
		case "sh", "bash", "dash", "zsh":
			if words[1] != "-c" || len(words) < 3 {
				return false
			}
			words = shellFields(words[2])
		case "command": // command -v handoff >/dev/null 2>&1 && handoff …
			i := slices.Index(words, "&&")
			if i < 0 {
				return false
			}
			words = words[i+1:]
		case "exec", "env", "npx", "bunx", "pnpx", "npm", "pnpm", "yarn":
			words = words[1:]
			for len(words) > 0 && isRunnerWord(words[0]) {
				words = words[1:]
			}
		default:
			return false
		}
	}
	return false
}

// programName returns the name of a program without its directory and version.
func programName(word string) string {
	name := path.Base(strings.ReplaceAll(word, `\`, "/"))
	name, _, _ = strings.Cut(name, "@")
	return strings.TrimSuffix(name, ".exe")
}

// isRunnerWord reports whether a runner of packages takes a word for itself.
func isRunnerWord(word string) bool {
	return strings.HasPrefix(word, "-") || strings.Contains(word, "=") || word == "exec" || word == "dlx" || word == "x"
}

// shellFields splits a command into words as a shell does, but for expansions.
func shellFields(command string) []string {
	var words []string
	var word strings.Builder
	var quote rune
	var escaped, inWord bool
	for _, r := range command {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words
}

// commandOf returns the command of an entry: of a server with arguments, of a
// hook, or of a list with one hook. It returns nil if the value is none of them.
func commandOf(v any) []string {
	entry, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if inner, ok := entry["hooks"].([]any); ok && len(inner) == 1 {
		return commandOf(inner[0])
	}
	for _, name := range []string{"command", "bash"} {
		switch command := entry[name].(type) {
		case string:
			if args := texts(entry["args"]); args != nil {
				return append([]string{command}, args...)
			}
			return shellFields(command)
		case []any:
			return texts(command)
		}
	}
	return nil
}

// texts returns the texts of a list, nil if it is none.
func texts(v any) []string {
	list, _ := v.([]any)
	var all []string
	for _, e := range list {
		text, ok := e.(string)
		if !ok {
			return nil
		}
		all = append(all, text)
	}
	return all
}

// An ownership recognizes handoff's entries in one file: by their command, or
// because the journal says that init wrote them.
type ownership []Change

func (o ownership) owns(v any) bool {
	command := commandOf(v)
	if ownCommand(command) {
		return true
	}
	for _, c := range o {
		written := commandOf(c.value())
		if equal(c.value(), v) || written != nil && slices.Equal(written, command) {
			return true
		}
	}
	return false
}
