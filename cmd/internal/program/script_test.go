package program

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/testlog"
	"github.com/agent-handoff/handoff/internal/tool/testdir"
	"github.com/rogpeppe/go-internal/testscript"
)

// programs are what scripts and tests find on their path.
var programs = map[string]func() int{
	"handoff":       recordedMain,
	"agent-handoff": recordedMain,
	"unprivileged":  func() int { return unprivileged(os.Args[1:]) },
}

// TestMain runs the tests, or the program by whose name the test binary was called.
// testscript.Main would let no command of a script have the name of a program.
func TestMain(m *testing.M) {
	backends = append(backends, testlog.Backend)
	if called := programs[filepath.Base(os.Args[0])]; called != nil {
		os.Exit(called())
	}
	debug.SetGCPercent(-1) // the tests lack time, not memory
	debug.SetMemoryLimit(600 << 20)
	_ = flag.Set("test.parallel", fmt.Sprint(3*runtime.GOMAXPROCS(0))) // many wait; -parallel sets another number
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGTERM} {
		if signal.Ignored(sig) {
			// In the background of a shell or under nohup it is, and would be in what the tests start.
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	os.Exit(testdir.Run(func() int { return runTests(m) }))
}

// runTests runs the tests with the programs on their path, and without variables of the
// caller that would change what git does.
func runTests(m *testing.M) int {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	bin, err := installPrograms()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(bin)
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// installPrograms returns a new directory with a copy of the test binary under the name of
// each program: a link can leave its path, which the program looks at.
func installPrograms() (bin string, err error) {
	this, err := os.Executable()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(this)
	if err != nil {
		return "", err
	}
	if bin, err = os.MkdirTemp("", "handoff-programs-"); err != nil {
		return "", err
	}
	first := ""
	for name := range programs {
		file := filepath.Join(bin, name)
		if first == "" {
			first, err = file, os.WriteFile(file, text, 0o755)
		} else {
			err = os.Link(first, file)
		}
		if err != nil {
			return "", errors.Join(err, os.RemoveAll(bin))
		}
	}
	return bin, nil
}

// TestScript runs the scripts: each is what a person would type. Beside testscript's own
// commands they have those of scriptCommands. Their commands run inside the test process.
func TestScript(t *testing.T) {
	t.Parallel()
	runScripts(t, insideProcess(t, allScripts(t)), runInside)
}

// TestScriptProcess runs the scripts again with a process for each command, as a person does.
func TestScriptProcess(t *testing.T) {
	t.Parallel()
	runScripts(t, some(allScripts(t)), runProgram)
}

// TestScriptOtherLog runs the scripts again over another log, except those that
// depend on the files of the built-in one or record nothing.
func TestScriptOtherLog(t *testing.T) {
	if os.Getenv("HANDOFF_LONG") == "" {
		t.Skip("takes a while; HANDOFF_LONG=1 runs it, as .ci/run does")
	}
	t.Parallel()
	all := allScripts(t)
	scripts := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !usesOtherLog(t, name) })
	if len(scripts) < len(all)/2 {
		t.Fatalf("%d of %d scripts run over another log, want most", len(scripts), len(all))
	}
	runScripts(t, insideProcess(t, scripts), runInside, "HANDOFF_LOG="+testlog.Backend.Scheme+":")
}

// allScripts returns the files of the scripts.
func allScripts(t *testing.T) []string {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return scripts
}

// some returns every eighth of a list, and all of it where HANDOFF_LONG is set, as .ci/run does
// for scripts and make long for the rest.
func some[T any](list []T) []T {
	if os.Getenv("HANDOFF_LONG") != "" {
		return list
	}
	n := -1
	return slices.DeleteFunc(slices.Clone(list), func(T) bool { n++; return n%8 != 0 })
}

// runScripts runs scripts, whose command lines run runs, with more variables.
func runScripts(t *testing.T, scripts []string, run runner, env ...string) {
	setUp := setUpScript(recordAnswers(t))
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		Cmds:                scriptCommands(run),
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, env...)
			return setUp(e)
		},
	})
}

// setUpScript returns what prepares a script whose answers are recorded in a directory. Each
// has a home directory of its own: the user may be root, who can write in any other one.
func setUpScript(answers string) func(*testscript.Env) error {
	return func(env *testscript.Env) error {
		home, err := os.MkdirTemp("", "handoff-home-")
		if err != nil {
			return err
		}
		env.Defer(func() { os.RemoveAll(home) })
		env.Setenv("HOME", home)
		env.Setenv(answersVariable, answers)
		env.Setenv("NL", "\n")
		// So that no workspace above the script's directory is found.
		return os.Mkdir(filepath.Join(env.WorkDir, ".git"), 0o755)
	}
}

// fileLogNames are names of the built-in log's files, and of what only it has.
var fileLogNames = regexp.MustCompile(
	`\.handoff/(log|bodies|artifacts/records)|log/0000|bodies/sha256|recordPath|HANDOFF_LOG`)

// recordingCommands are those that can add a record.
var recordingCommands = regexp.MustCompile(
	`handoff (publish|write|run|attest|hook|session (open|add|adopt)|pipeline (put|adopt))`)

func usesOtherLog(t *testing.T, script string) bool {
	b, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	return recordingCommands.Match(b) && !fileLogNames.Match(b)
}

// scriptCommands returns the commands of scripts, whose command lines run runs.
func scriptCommands(run runner) map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		"exits":   run.exits,
		"refuses": run.refuses,
		"handoff": run.handoff,
		"save":    scriptSave,
		"json":    scriptJSON,
	}
}

// handoff ARG… runs handoff.
func (run runner) handoff(ts *testscript.TestScript, neg bool, args []string) {
	if r := run(ts, append([]string{"handoff"}, args...)); (r.code != 0) != neg {
		ts.Fatalf("handoff exits %d\n%s", r.code, r.stderr)
	}
}

// exits CODE PROGRAM ARG… runs a program, which must end with the code.
func (run runner) exits(ts *testscript.TestScript, neg bool, args []string) {
	run.ends(ts, "exits", neg, args)
}

// ends runs a program, which must end with the code before its name.
func (run runner) ends(ts *testscript.TestScript, command string, neg bool, args []string) result {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: %s CODE PROGRAM ARG…", command)
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	r := run(ts, args[1:])
	if r.code != want {
		ts.Fatalf("%s exits %d, want %d\n%s", strings.Join(args[1:], " "), r.code, want, r.stderr)
	}
	return r
}

// refuses CODE PROGRAM ARG… is exits for a program that must print an error with
// a hint on standard error, nothing on standard output (with --json, the error
// as an object), and must leave every file in the script's directory as it was.
func (run runner) refuses(ts *testscript.TestScript, neg bool, args []string) {
	before := listing(ts)
	r := run.ends(ts, "refuses", neg, args)
	out := r.stdout
	if slices.Contains(args, "--json") && strings.HasPrefix(out, `{"error":{`) && strings.Count(out, "\n") == 1 {
		out = ""
	}
	if out != "" {
		ts.Fatalf("standard output is not empty: %s", out)
	}
	if !strings.HasPrefix(r.stderr, "handoff: ") || !strings.Contains(r.stderr, "\nhint: ") {
		ts.Fatalf("there is no reason and no hint: %q", r.stderr)
	}
	if after := listing(ts); after != before {
		ts.Fatalf("files changed:\nbefore:\n%s\nafter:\n%s", before, after)
	}
}

// listing describes every file in the script's directory: name, mode, and the
// digest of its content.
func listing(ts *testscript.TestScript) string {
	root := ts.Getenv("WORK")
	var b strings.Builder
	ts.Check(filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", strings.TrimPrefix(name, root), info.Mode())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(content))
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " -> %s", to)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

// save NAME keeps the last standard output, an ID, as a variable.
func scriptSave(ts *testscript.TestScript, neg bool, args []string) {
	value := strings.TrimSpace(ts.ReadFile("stdout"))
	if neg || len(args) != 1 || value == "" || strings.ContainsAny(value, " \n") {
		ts.Fatalf("usage: save NAME, after a command that printed one word; it printed %q", value)
	}
	ts.Setenv(args[0], value)
}

// json FILE PATH [VALUE] checks a value in a JSON document, or in the first of several:
// keys and places joined by dots, len for a length. The value there must be
// VALUE, or exist; with ! it must be another, or not exist.
func scriptJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: [!] json FILE PATH [VALUE]")
	}
	var doc any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	got, found := dig(doc, strings.Split(args[1], "."))
	ok := found
	if len(args) == 3 {
		ok = found && got == args[2]
	}
	if ok == neg {
		ts.Fatalf("%s %s is %q (found: %t)\n%s", args[0], args[1], got, found, ts.ReadFile(args[0]))
	}
}

func dig(v any, path []string) (string, bool) {
	for _, key := range path {
		switch at := v.(type) {
		case map[string]any:
			if key == "len" {
				v = len(at)
				continue
			}
			var ok bool
			if v, ok = at[key]; !ok {
				return "", false
			}
		case []any:
			if key == "len" {
				v = len(at)
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(at) {
				return "", false
			}
			v = at[i]
		default:
			return "", false
		}
	}
	if text, ok := v.(string); ok {
		return text, true
	}
	return fmt.Sprint(v), true
}

func TestDig(t *testing.T) {
	doc := map[string]any{"list": []any{"a", map[string]any{"n": json.Number("3")}}}
	for path, want := range map[string]string{"list.len": "2", "list.0": "a", "list.1.n": "3"} {
		if got, ok := dig(doc, strings.Split(path, ".")); !ok || got != want {
			t.Errorf("dig(%s) = %q, %t, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"none", "list.2", "list.x", "list.0.deeper"} {
		if got, ok := dig(doc, strings.Split(path, ".")); ok {
			t.Errorf("dig(%s) = %q, want nothing", path, got)
		}
	}
}

// TestScriptNames checks that the name of a script starts with its topic.
func TestScriptNames(t *testing.T) {
	topics := []string{"publish", "withdraw", "find", "show", "list", "read", "keep", "watch", "gc", "check", "family",
		"identity", "workspace", "config", "usage", "demo", "serve", "hook", "init", "thread", "continue", "write",
		"session", "run", "search", "pipeline", "log", "cost", "status", "why", "news", "review"}
	files, err := filepath.Glob("testdata/script/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		topic, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(f), ".txtar"), "_")
		if filepath.Ext(f) != ".txtar" || !slices.Contains(topics, topic) {
			t.Errorf("%s: the name begins with none of %v", f, topics)
		}
	}
}

// writeProgram writes a file that a test runs. No process is started meanwhile: it would have the
// file open for writing until it runs its program, and the system refuses to run such a file.
func writeProgram(file, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(file, []byte(text), 0o755)
}
