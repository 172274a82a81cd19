package program

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/setup"
)

// TestForeignProgramNamedHandoff runs every command that init, the plugin and the
// skill write, with another program named handoff first in PATH. It receives nothing,
// and the commands reach agent-handoff.
func TestForeignProgramNamedHandoff(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	for _, scope := range []string{"--user", "--project"} {
		args := []string{"init", scope, "--status-line", "--review-plans"}
		for _, name := range setup.Names() {
			args = append(args, "--agent", name)
		}
		f.must(f.repo, filepath.Join(f.own, "agent-handoff"), args...)
	}
	plugin, err := filepath.Abs("../../../plugins")
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, dir := range []string{f.home, f.repo, plugin} {
		for _, c := range f.commands(dir) {
			commands[c] = true
		}
	}
	if len(commands) < 30 {
		t.Fatalf("the files have %d commands, want at least 30", len(commands))
	}
	for c := range commands {
		f.run(c)
	}
	if b, err := os.ReadFile(filepath.Join(f.foreign, "received")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the other program named handoff received\n%s", b)
	}
	reached, err := os.ReadFile(filepath.Join(f.own, "called"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hook claude", "hook codex", "hook gemini", "hook qwen", "hook copilot sessionStart",
		"hook statusline", "hook opencode", "hook pi", "mcp", "list", "publish", "wait"} {
		if !strings.Contains(string(reached), want) {
			t.Errorf("no command reaches agent-handoff %s:\n%s", want, reached)
		}
	}
}

// foreign is a user who has another program named handoff first in PATH, then
// agent-handoff alone.
type foreign struct {
	*testing.T
	home, repo, foreign, own string
}

func newForeign(t *testing.T) foreign {
	t.Helper()
	dir := t.TempDir()
	f := foreign{t, filepath.Join(dir, "home"), filepath.Join(dir, "repo"), filepath.Join(dir, "foreign"),
		filepath.Join(dir, "own")}
	real, err := exec.LookPath("agent-handoff")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{f.home, f.repo, f.foreign, f.own} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, content := range map[string]string{
		f.foreign + "/handoff": "#!/bin/sh\n{ echo \"called: $*\"; cat; } >>" + f.foreign + "/received\n",
		f.own + "/agent-handoff": "#!/bin/bash\necho \"$*\" >>" + f.own + "/called\n" +
			"exec -a agent-handoff " + real + " \"$@\"\n",
	} {
		if err := writeProgram(file, content); err != nil {
			t.Fatal(err)
		}
	}
	f.must(f.repo, "git", "init", "-q")
	return f
}

func (f foreign) environ() []string {
	return []string{"PATH=" + f.foreign + ":" + f.own + ":" + os.Getenv("PATH"), "HOME=" + f.home,
		"TMPDIR=" + os.TempDir(), "SHELL=/bin/sh"}
}

func (f foreign) must(dir, program string, args ...string) {
	f.Helper()
	c := exec.Command(program, args...)
	c.Dir, c.Env = dir, f.environ()
	if out, err := c.CombinedOutput(); err != nil {
		f.Fatalf("%s %v: %v\n%s", program, args, err, out)
	}
}

// run runs one command as an agent program does, with a prompt of the user.
func (f foreign) run(command string) {
	f.Helper()
	c := exec.Command("sh", "-c", command)
	c.Dir, c.Env = f.repo, f.environ()
	c.Stdin = strings.NewReader(
		`{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"a private prompt","cwd":"` + f.repo + `"}` + "\n")
	_ = c.Run() // most have no valid input; what counts is which program gets it
}

// calls finds the program that a script of pi or OpenCode starts.
var calls = regexp.MustCompile(`(?m)^const program = (".*")$`)

// commands returns the commands in the files of a directory, for a shell.
func (f foreign) commands(dir string) (list []string) {
	f.Helper()
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(file)
		switch text := string(b); {
		case err != nil:
			return err
		case strings.Contains(file, "/.handoff/") || strings.Contains(file, "/.git/") || strings.Contains(file, "/.local/"):
		case strings.HasSuffix(file, ".json"):
			var value any
			if err := json.Unmarshal(b, &value); err != nil {
				return err
			}
			list = append(list, commandsIn(value)...)
		case strings.HasSuffix(file, ".toml"):
			list = append(list, commandsOfTable(f, text)...)
		case strings.HasSuffix(file, ".md"):
			list = append(list, commandsOfSkill(text)...)
		default:
			for _, m := range calls.FindAllStringSubmatch(text, -1) {
				for _, args := range []string{" mcp", " hook pi", " hook opencode session.created"} {
					list = append(list, m[1]+args)
				}
			}
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// commandsIn returns the commands in a JSON value: of hooks and of servers.
func commandsIn(value any) (list []string) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			list = append(list, commandsIn(e)...)
		}
	case map[string]any:
		for name, e := range v {
			text, isText := e.(string)
			words, _ := e.([]any)
			switch args, server := v["args"].([]any); {
			case name == "command" && isText && server:
				list = append(list, quoted(append([]any{text}, args...)))
			case isText && (name == "command" || name == "bash"):
				list = append(list, text)
			case name == "command" && words != nil:
				list = append(list, quoted(words))
			default:
				list = append(list, commandsIn(e)...)
			}
		}
	}
	return list
}

func quoted(words []any) string {
	line := ""
	for _, w := range words {
		line += " '" + strings.ReplaceAll(w.(string), "'", `'\''`) + "'"
	}
	return line
}

// commandsOfTable returns the command of the server in Codex's settings.
func commandsOfTable(f foreign, text string) []string {
	f.Helper()
	command := regexp.MustCompile(`(?m)^command = (".*")$`).FindStringSubmatch(text)
	args := regexp.MustCompile(`(?m)^args = \[(.*)\]$`).FindStringSubmatch(text)
	if command == nil {
		f.Fatalf("no command in\n%s", text)
	}
	if args == nil { // only hooks, as of Kimi Code
		var line string
		if err := json.Unmarshal([]byte(command[1]), &line); err != nil {
			f.Fatal(err)
		}
		return []string{line}
	}
	var words []any
	if err := json.Unmarshal([]byte("["+command[1]+","+args[1]+"]"), &words); err != nil {
		f.Fatal(err)
	}
	return []string{quoted(words)}
}

// commandsOfSkill returns the commands that the skill shows: lines of code, and code
// in sentences that begins with a name of the program.
func commandsOfSkill(text string) (list []string) {
	for _, line := range strings.Split(text, "\n") {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			list = append(list, strings.Replace(command, "10m", "10ms", 1))
		}
	}
	for _, m := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(text, -1) {
		if words := strings.Fields(m[1]); len(words) > 0 && slices.Contains([]string{"handoff", "agent-handoff"}, words[0]) {
			list = append(list, m[1])
		}
	}
	return list
}
