package setup_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// readers print what a program has read from the file of a sample.
var readers = map[string][]string{
	"codex": {"codex", "mcp", "list"}, "claude": {"claude", "mcp", "get", "agent-handoff"},
	"gemini": {"gemini", "mcp", "list"}, "opencode": {"opencode", "debug", "config"},
}

// complaints are what a program prints, and exits with 0, if it can't read a file.
var complaints = map[string]string{"claude": "not valid JSON", "gemini": "Error"}

// adders are the programs' own edits of the file.
var adders = map[string][]string{
	"codex":  {"codex", "mcp", "add", "added", "--", "added-mcp"},
	"claude": {"claude", "mcp", "add", "--scope", "user", "added", "--", "added-mcp"},
	"gemini": {"gemini", "mcp", "add", "--scope", "user", "added", "added-mcp"},
}

// TestClients sets up every sample, again, with a moved binary, and after an edit
// by the program, and takes everything back. The program must accept the file
// after every step. Run it with .ci/clients; E2E_SAMPLES names some programs.
// Programs on Node take seconds to start, and OpenCode waits a minute for a network:
// HANDOFF_LONG=1 gives them every sample.
func TestClients(t *testing.T) {
	clients, handoff := os.Getenv("E2E_CLIENTS"), os.Getenv("E2E_HANDOFF")
	if clients == "" || handoff == "" {
		t.Skip("E2E_CLIENTS and E2E_HANDOFF name no programs; .ci/clients sets them")
	}
	long := os.Getenv("HANDOFF_LONG") != ""
	for i, s := range samples(t) {
		if !long && (s.Program == "opencode" || s.Program != "codex" && i%5 != 0) {
			continue
		}
		if only := os.Getenv("E2E_SAMPLES"); only != "" && !strings.Contains(only, s.Program) {
			continue
		}
		t.Run(s.Program+" "+s.Name, func(t *testing.T) {
			t.Parallel()
			c := clientHome{home: home{t, t.TempDir()}, sample: s}
			c.env = []string{"HOME=" + c.dir, "LANG=C.UTF-8", "TERM=xterm", "SHELL=/bin/bash", "GEMINI_API_KEY=test",
				"OPENCODE_DISABLE_MODELS_FETCH=1",
				"PATH=" + handoff + ":" + clients + ":/usr/local/bin:/usr/bin:/bin"}
			c.check(handoff)
		})
	}
}

// A clientHome is a home directory with a sample, for real programs.
type clientHome struct {
	home
	sample sample
	env    []string
}

func (c clientHome) run(args ...string) (string, error) {
	c.t.Helper()
	cmd := exec.Command("env", append([]string{"-i"}, append(c.env, args...)...)...)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c clientHome) must(args ...string) {
	c.t.Helper()
	if out, err := c.run(args...); err != nil {
		c.t.Fatalf("%v: %v\n%s", args, err, out)
	}
}

// reads checks that the program accepts the file, and has the server or not.
func (c clientHome) reads(step string, registered bool) {
	c.t.Helper()
	program, file := c.sample.Program, sampleFiles[c.sample.Program]
	out, err := c.run(readers[program]...)
	if program == "claude" && !registered {
		err = nil // it fails because there is no such server
	}
	if bad := complaints[program]; err != nil || bad != "" && strings.Contains(out, bad) {
		c.t.Errorf("%s: %s rejects the file (%v):\n%s\n%s", step, program, err, c.home.read(file), out)
	}
	if registered && !strings.Contains(out, "agent-handoff") {
		c.t.Errorf("%s: %s does not have the server:\n%s\n%s", step, program, c.home.read(file), out)
	}
}

func (c clientHome) check(handoff string) {
	s, file := c.sample, sampleFiles[c.sample.Program]
	c.write(file, s.Text)
	c.reads("before", false)
	before := c.home.read(file) // the program may have changed it
	if s.Refused {
		if out, err := c.run("handoff", "init", "--agent", s.Program); err == nil || c.home.read(file) != before {
			c.t.Errorf("it is edited: %s", out)
		}
		return
	}
	moved := filepath.Join(c.dir, "agent-handoff")
	if err := os.Symlink(filepath.Join(handoff, "agent-handoff"), moved); err != nil {
		c.t.Fatal(err)
	}
	for _, words := range [][]string{{"handoff", "init"}, {"handoff", "init"}, {moved, "init", "--allow"}} {
		c.must(append(words, "--agent", s.Program)...)
		c.reads(strings.Join(words, " "), true)
	}
	if add := adders[s.Program]; add != nil {
		c.must(add...)
		c.reads("after its own edit", true)
		c.must("handoff", "init", "--agent", s.Program)
		c.reads("and init", true)
	}
	c.must("handoff", "init", "--undo")
	c.reads("undo", false)
	now := c.home.read(file)
	if strings.Contains(now, handoff) || strings.Contains(now, moved) {
		c.t.Errorf("an entry is left:\n%s", now)
	}
	if adders[s.Program] == nil && now != before {
		c.t.Errorf("undo left %q, want %q", now, before)
	}
}
