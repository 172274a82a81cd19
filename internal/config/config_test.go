package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
)

func TestParse(t *testing.T) {
	digest := func(n config.Size) config.Config { return config.Config{Limits: config.Limits{Digest: n}} }
	for _, tt := range []struct {
		text string
		want config.Config
	}{
		{"", config.Config{}},
		{" \n\t\n", config.Config{}},
		{"# nothing yet\n", config.Config{}},
		{"limits: {digest: 0}", digest(0)},
		{"limits:\n  digest: 1000\n", digest(1000)},
		{"limits: {digest: 3KiB}", digest(3 << 10)},
		{"limits: {digest: 64 MiB}", digest(64 << 20)},
		{"limits: {digest: \"2GiB\"}", digest(2 << 30)},
		{"limits: {}", config.Config{}},
		{"limits: {digest: }", config.Config{}},
		{"keep: never", config.Config{Keep: handoff.KeepNever}},
		{"channels: {threat-model: what could go wrong}",
			config.Config{Channels: map[string]string{"threat-model": "what could go wrong"}}},
	} {
		got, err := config.Parse([]byte(tt.text))
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"chanels: {}", "line 1"},
		{"limits: {digests: 1}", "line 1"},
		{"limits: {digest: 1}\nlimits: {digest: 2}", "line 2"},
		{"channels: {a: one, a: two}", "line 1"},
		{"channels: {Design: x}", "channels: "},
		{"channels: {a_b: x}", "channels: "},
		{"channels: [a]", "line 1"},
		{"limits: {digest: many}", "line 1"},
		{"limits: {digest: -1}", "line 1"},
		{"limits: {digest: 1.5MiB}", "line 1"},
		{"limits: {digest: 9999999999GiB}", "line 1"},
		{"limits: {digest: [1]}", "line 1"},
		{"keep: no", "must be auto, always or never"},
		{"keep: {}", "line 1"},
		{"just text", "line 1"},
		{"a: b: c", "line 1"},
		{"limits: {digest: 1}\n---\nlimits: {digest: 2}", "invalid YAML"},
		{"#" + strings.Repeat("x", 1<<20), "more than"},
	} {
		got, err := config.Parse([]byte(tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Parse(%.40q) = %+v, %v, want an error that says %s", tt.text, got, err, tt.says)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	load := func() (config.Config, error) {
		return config.Load(config.Workspace{Root: t.TempDir(), Runtime: dir}, func(string) string { return "" })
	}
	if got, err := load(); err != nil || got.Keep != "" || len(got.Channels) > 0 || len(got.Settings()) != 2 {
		t.Errorf("Load without a file = %+v, %v, want no settings", got, err)
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("colour: red"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := load()
	var e *handoff.Error
	if !errors.As(err, &e) || e.Kind != handoff.Invalid || e.Name != file || e.Hint.IsZero() {
		t.Errorf("Load of a bad file = %v, want kind Invalid, the file's name and a hint", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := load(); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Load of a directory = %v, want kind Unavailable", err)
	}
}

func TestPurposes(t *testing.T) {
	c, err := config.Parse([]byte("channels: {zeta: last, alpha: first of my own, design: the drawings}"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range c.Purposes() {
		got = append(got, p[0])
	}
	want := []string{"analysis", "design", "patch", "verification", "handoff", "alpha", "zeta"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Purposes are of %v, want %v", got, want)
	}
	if got := c.Purposes()[1][1]; got != "the drawings" {
		t.Errorf("the purpose of design is %q, want the workspace's own", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "limits: {digest: 64MiB}", "channels: {design: x}", "a: &a [*a]", "a: &a [x,x]\nb: [*a,*a]", "!!binary x",
		"limits: {digest: 1e9}",
		"\xff", "- - - - -", "{{{{{{{{", "limits:\n  <<: {digest: 1}", "%YAML 1.2\n---\n", "channels: {? [a] : b}", "\x00",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := config.Parse(b)
		if err != nil {
			return
		}
		if c.Limits.Digest < 0 {
			t.Errorf("Parse(%q) has the size %d", b, c.Limits.Digest)
		}
		for name := range c.Channels {
			if err := handoff.CheckChannel(name); err != nil {
				t.Errorf("Parse(%q): %v", b, err)
			}
		}
	})
}
