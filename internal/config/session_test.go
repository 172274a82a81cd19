package config

import (
	"path/filepath"
	"testing"
)

// TestRunOfPi checks whose variables name the run and the session directory: those
// of pi win if they differ from what handoff run exported.
func TestRunOfPi(t *testing.T) {
	type env = map[string]string
	with := func(maps ...env) env {
		all := env{}
		for _, m := range maps {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	exported := env{"HANDOFF_SESSION": "s", "HANDOFF_SESSION_DIR": "/s", "PI_ARTIFACT_RUN_ID": "s",
		"PI_ARTIFACT_SESSION_DIR": "/s"}
	nested := with(exported, env{"HANDOFF_RUN": "r", "PI_ARTIFACT_RUN_ID": "r"})
	for _, tt := range []struct {
		name      string
		env       env
		run, want string
	}{
		{"nothing", nil, "", ""},
		{"pi alone", env{"PI_ARTIFACT_RUN_ID": "p", "PI_ARTIFACT_SESSION_DIR": "/p"}, "p", "/p"},
		{"half of pi", env{"PI_ARTIFACT_RUN_ID": "p"}, "", ""},
		{"a run that was set in pi", env{"HANDOFF_RUN": "r", "PI_ARTIFACT_RUN_ID": "p", "PI_ARTIFACT_SESSION_DIR": "/p"}, "r",
			"/p"},
		{"handoff run", exported, "", "/s"},
		{"a run in handoff run", nested, "r", "/s"},
		{"pi in handoff run", with(exported, env{"PI_ARTIFACT_RUN_ID": "p", "PI_ARTIFACT_SESSION_DIR": "/p"}), "p", "/p"},
		{"a subagent of pi in handoff run", with(exported, env{"PI_ARTIFACT_RUN_ID": "p"}), "p", "/s"},
		{"pi in a run in handoff run", with(nested, env{"PI_ARTIFACT_RUN_ID": "p", "PI_ARTIFACT_SESSION_DIR": "/p"}), "p",
			"/p"},
		{"half of pi in handoff run", with(exported, env{"PI_ARTIFACT_SESSION_DIR": ""}), "", "/s"},
	} {
		getenv := func(name string) string { return tt.env[name] }
		id, _ := run(getenv)
		dir := SessionDir(getenv, "/work")
		if id != tt.run || dir != filepath.FromSlash(tt.want) {
			t.Errorf("%s: got run %q in %q, want %q in %q", tt.name, id, dir, tt.run, tt.want)
		}
	}
}
