package userdir_test

import (
	"runtime"
	"testing"

	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

func TestDirectories(t *testing.T) {
	if runtime.GOOS == "darwin" {
		t.Skip("macOS has its own defaults")
	}
	for _, c := range []struct {
		env                  map[string]string
		config, cache, state string
	}{
		{map[string]string{"HOME": "/h"}, "/h/.config/", "/h/.cache/", "/h/.local/state/"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k", "XDG_STATE_HOME": "/s"}, "/c/",
			"/k/", "/s/"},
		{map[string]string{"HOME": "/h", "XDG_CONFIG_HOME": "relative"}, "/h/.config/", "/h/.cache/", "/h/.local/state/"},
		{map[string]string{"HOME": "relative"}, "", "", ""},
		{nil, "", "", ""},
	} {
		getenv := func(name string) string { return c.env[name] }
		for _, d := range []struct{ what, got, want string }{
			{"Config", userdir.Config(getenv), c.config},
			{"Cache", userdir.Cache(getenv), c.cache},
			{"State", userdir.State(getenv), c.state},
		} {
			if d.want != "" {
				d.want += "agent-handoff"
			}
			if d.got != d.want {
				t.Errorf("%v: %s is %q, want %q", c.env, d.what, d.got, d.want)
			}
		}
	}
}
