package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// TestPlugin checks the folder plugins/agent-handoff with the validator of each program
// that has one, installs it, and checks that the program then has the server.
func TestPlugin(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(root, "plugins", "agent-handoff")
	for name, commands := range map[string][]struct {
		args []string
		want string
	}{
		"claude": {
			{[]string{"claude", "plugin", "validate", plugin}, "Validation passed"},
			{[]string{"claude", "plugin", "validate", root}, "Validation passed"},
			{[]string{"claude", "plugin", "marketplace", "add", root}, ""},
			{[]string{"claude", "plugin", "install", "agent-handoff@agent-handoff"}, ""},
			{[]string{"claude", "mcp", "list"}, `agent-handoff: .*Connected`},
		},
		"codex": {
			{[]string{"codex", "plugin", "marketplace", "add", root}, ""},
			{[]string{"codex", "plugin", "add", "agent-handoff@agent-handoff"}, ""},
			{[]string{"codex", "mcp", "list"}, `agent-handoff .*enabled`},
		},
		"gemini": {
			{[]string{"gemini", "extensions", "validate", plugin}, "successfully validated"},
		},
		"opencode": {
			{[]string{"node", "-e", "import(process.argv[1]).then((m) => m.Handoff({ directory: '.' })).then((hooks) => " +
				"console.log(Object.keys(hooks)))", filepath.Join(plugin, "opencode.js")}, "shell.env"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			for _, c := range commands {
				if out := h.all(nil, c.args...); !regexp.MustCompile(c.want).MatchString(out) {
					t.Errorf("%v printed %s, want %s", c.args, out, c.want)
				}
			}
		})
	}
	t.Run("pi", func(t *testing.T) {
		t.Parallel()
		h := newHome(t)
		s := h.serve(model.Script{})
		h.all(nil, "pi", "install", plugin)
		pi.configure(h, s.URL)
		h.must(pi.env(s.URL), pi.prompt("[[plugin]] Begin.")...)
		if tools := s.Requests()[0].Tools; !slices.Contains(tools, "artifact_publish") {
			t.Errorf("pi has the tools %v, want those of handoff", tools)
		}
	})
}
