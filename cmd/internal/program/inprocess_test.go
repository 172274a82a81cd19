package program

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/rogpeppe/go-internal/testscript"
)

// A result is what a command line of a script printed, and its exit code.
type result struct {
	stdout, stderr string
	code           int
}

// A runner runs a command line of a script.
type runner func(ts *testscript.TestScript, args []string) result

// runProgram runs a command line of a script as a process.
func runProgram(ts *testscript.TestScript, args []string) result {
	var code int
	err := ts.Exec(args[0], args[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	return result{ts.ReadFile("stdout"), ts.ReadFile("stderr"), code}
}

// runInside runs a command line of a script inside the test process, if it calls handoff
// and needs no process of its own, otherwise as runProgram does.
func runInside(ts *testscript.TestScript, args []string) result {
	if args[0] == "exec" {
		return runProgram(ts, args[1:])
	}
	if args[0] != "handoff" || needsProcess(ts, args[1:]) {
		return runProgram(ts, args)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var out, errs lockedBuffer
	dir := ts.MkAbs(".")
	a := &cli.App{
		In: strings.NewReader(""), Out: &out, Err: &errs, Width: 80, Dir: dir, Now: time.Now, Rand: rand.Reader,
		Self: programPath(), Getenv: func(name string) string {
			switch name {
			case "PWD":
				return dir
			case "GOGC": // that of the test process
				return "off"
			}
			return ts.Getenv(name)
		},
	}
	code := Run(ctx, a, args[1:])
	if filepath.Base(ts.Getenv("WORK")) != newerRecords {
		if err := allAnswers().check(args[1:], out.String()); err != nil {
			ts.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out.String())
		}
	}
	io.WriteString(ts.Stdout(), out.String())
	io.WriteString(ts.Stderr(), errs.String())
	return result{out.String(), errs.String(), code}
}

// A lockedBuffer is a buffer that goroutines may write to at once, as to a file.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// programPath returns the path of the program that scripts find.
var programPath = sync.OnceValue(func() string {
	path, err := exec.LookPath("handoff")
	if err != nil {
		panic(err)
	}
	return path
})

// processCommands need a process of their own: run and attest start a command whose
// processes descend from them and whom they pass signals, demo and mcp are servers or start
// the program again, hook looks for the program that started it, and continue runs one in its place.
var processCommands = []string{"run", "attest", "demo", "serve", "mcp", "hook", "continue"}

// processVariables change what programs that handoff starts, such as git, do: they get the
// environment of the process.
var processVariables = []string{"GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL",
	"GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT", "GIT_CEILING_DIRECTORIES"}

// needsProcess reports whether a command line of a script needs a process of its own.
func needsProcess(ts *testscript.TestScript, args []string) bool {
	if len(args) > 0 && slices.Contains(processCommands, args[0]) || ts.Getenv("PATH") != os.Getenv("PATH") {
		return true
	}
	if _, err := os.Lstat(filepath.Join(ts.Getenv("HOME"), ".gitconfig")); err == nil {
		return true
	}
	return slices.ContainsFunc(processVariables, func(name string) bool { return ts.Getenv(name) != "" })
}

// startLine matches a line of a script that runs handoff in the foreground.
var startLine = regexp.MustCompile(`^(! )?(exec |(?:refuses|exits) \d+ )(handoff\b.*)\n`)

// insideProcess returns copies of scripts in which exec handoff is the command handoff, which runs
// inside the test process, unless it reads standard input, which only a process can.
func insideProcess(t *testing.T, scripts []string) []string {
	dir := t.TempDir()
	var copies []string
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		stdin, files := false, false
		for line := range strings.Lines(string(text)) {
			m := startLine.FindStringSubmatch(line)
			files = files || strings.HasPrefix(line, "-- ")
			stdin = stdin || strings.HasPrefix(line, "stdin ")
			switch {
			case m == nil || files || strings.HasSuffix(m[3], "&"):
				b.WriteString(line)
			case m[2] == "exec " && !stdin:
				b.WriteString(m[1] + m[3] + "\n")
			case m[2] != "exec " && stdin:
				b.WriteString(m[1] + m[2] + "exec " + m[3] + "\n")
			default:
				b.WriteString(line)
			}
			if strings.Contains(line, "exec ") || m != nil {
				stdin = false
			}
		}
		c := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(c, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		copies = append(copies, c)
	}
	return copies
}
