// Package cmdline splits command lines as a shell does, and compares them.
package cmdline

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// Split splits a command line into arguments. ok is false if a shell would do more than
// start one program with these arguments.
func Split(line string) (argv []string, ok bool) {
	var word strings.Builder
	open, quote := false, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && (c == ' ' || c == '\t'):
			if open {
				argv = append(argv, word.String())
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
		argv = append(argv, word.String())
	}
	return argv, quote == 0 && len(argv) > 0
}

// Join returns a command line that Split splits into argv.
func Join(argv []string) string {
	list := make([]string, len(argv))
	for i, arg := range argv {
		if split, ok := Split(arg); !ok || len(split) != 1 || split[0] != arg {
			arg = "'" + strings.ReplaceAll(arg, "'", `'"'"'`) + "'"
		}
		list[i] = arg
	}
	return strings.Join(list, " ")
}

// Script returns the command line that argv passes to a shell.
func Script(argv []string) (line string, ok bool) {
	if len(argv) != 3 || !slices.Contains([]string{"sh", "bash", "zsh", "dash"}, path.Base(argv[0])) {
		return "", false
	}
	return argv[2], argv[1] == "-c" || argv[1] == "-lc"
}

// Equal reports whether two command lines run the same program with the same arguments.
// Those that need a shell must be equal.
func Equal(a, b string) bool { return canonicalLine(a) == canonicalLine(b) }

// Digest returns the SHA-256 of an argument vector, in hexadecimal. It is the same for all
// vectors, and for all lines of LineDigest, that run the same program with the same
// arguments.
func Digest(argv []string) string { return digest(canonical(argv)) }

// LineDigest is Digest for a command line.
func LineDigest(line string) string { return digest(canonicalLine(line)) }

func digest(form string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(form))) }

// canonical returns a JSON array of the arguments, or a line that needs a shell.
func canonical(argv []string) string {
	if line, ok := Script(argv); ok {
		return canonicalLine(line)
	}
	b, _ := jsonl.Encode(argv, "") // of strings, it can't fail
	return string(printable.JSON(b))
}

func canonicalLine(line string) string {
	if argv, ok := Split(line); ok {
		return canonical(argv)
	}
	return strings.TrimSpace(line)
}
