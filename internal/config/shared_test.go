package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
)

// set are the two files of settings of a workspace, and its environment.
type set struct {
	config.Workspace
	env map[string]string
}

func newSettings(t *testing.T, private, shared string) set {
	t.Helper()
	dir := t.TempDir()
	s := set{config.Workspace{Root: dir, Runtime: filepath.Join(dir, ".handoff")},
		map[string]string{"HOME": t.TempDir()}}
	if err := os.Mkdir(s.Runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	s.write(t, ".handoff/config.yaml", private)
	s.write(t, "handoff.yaml", shared)
	return s
}

func (s set) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Root, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (s set) getenv(name string) string { return s.env[name] }

func (s set) load() (config.Config, error) { return config.Load(s.Workspace, s.getenv) }

// TestPrivateWins gives each setting in both files, in one, and in the environment.
func TestPrivateWins(t *testing.T) {
	const private = "channels: {a: mine, b: only mine}\nkeep: never\n"
	const shared = "channels: {a: theirs, c: only theirs}\nkeep: always\nlog: other://u:p@host/x\n"
	s := newSettings(t, private, shared)
	show := func() string {
		t.Helper()
		c, err := s.load()
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, s := range c.Settings() {
			list = append(list, fmt.Sprintf("%s=%s %s", s.Name, s.Value, filepath.Base(s.Source)))
		}
		return strings.Join(list, ", ")
	}
	want := "channels.a=mine config.yaml, channels.b=only mine config.yaml, channels.c=only theirs handoff.yaml, " +
		"keep=never config.yaml, log=other://host/x handoff.yaml"
	if got := show(); got != want {
		t.Errorf("settings are\n%s, want\n%s", got, want)
	}
	s.env["HANDOFF_LOG"] = "third://u:p@host"
	if got, want := show(), strings.Replace(want, "other://host/x handoff.yaml", "third://host HANDOFF_LOG",
		1); got != want {
		t.Errorf("settings with HANDOFF_LOG are\n%s, want\n%s", got, want)
	}
}

// TestSharedRefused reads a handoff.yaml as a hostile repository may have it.
func TestSharedRefused(t *testing.T) {
	for _, tt := range []struct{ text, says string }{
		{"limits: {digest: 1}", "limits.digest: can't be set"}, // of the private file
		{"output_folder: x", "output_folder: can't be set"},
		{"channels: {A: x}", "channels: "},
		{"keep: maybe", "keep: "},
		{"log: 'pa%zzss@host'", "log: not a URL"},
		{"log: [a]", "line 1"},
		{"a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nchannels: *b", "line "},
		{"#" + strings.Repeat("x", 1<<20), "too large"},
	} {
		_, err := newSettings(t, "", tt.text).load()
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "pa%zzss") {
			t.Errorf("Load with %.40q = %v, want an error with %q", tt.text, err, tt.says)
		}
	}
	s := newSettings(t, "", "")
	file := filepath.Join(s.Root, "handoff.yaml")
	for what, make := range map[string]func() error{
		"link": func() error { return os.Symlink("/dev/zero", file) }, "pipe": func() error {
			return syscall.Mkfifo(file, 0o600)
		},
		"directory": func() error { return os.Mkdir(file, 0o700) },
	} {
		if err := errors.Join(os.Remove(file), make()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.load(); !errors.Is(err, handoff.Unavailable) {
			t.Errorf("Load with a %s = %v, want kind Unavailable", what, err)
		}
	}
}

// TestTrust accepts exactly one log for one workspace.
func TestTrust(t *testing.T) {
	const log = "other://u:secret@host/x"
	s := newSettings(t, "", "log: "+log)
	check := func(s set) error {
		t.Helper()
		c, err := s.load()
		if err != nil {
			t.Fatal(err)
		}
		return c.CheckLog(s.Workspace, s.getenv, nil)
	}
	refused := func(what string, s set) {
		t.Helper()
		err := check(s)
		var e *handoff.Error
		if !errors.As(err, &e) || e.Kind != handoff.Invalid || !reflect.DeepEqual(e.Hint.Args, []string{"other://host/x"}) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: CheckLog = %v (%v), want kind Invalid and a hint without the password", what, err, e.Hint)
		}
	}
	refused("at first", s)
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"", "other://host/y", "other://host/x/", "other://v@host/x"} {
		if err := c.TrustLog(s.Workspace, s.getenv, other, nil); !errors.Is(err, handoff.Invalid) {
			t.Errorf("TrustLog(%q) = %v, want kind Invalid", other, err)
		}
	}
	refused("after refused acceptances", s)
	if err := c.TrustLog(s.Workspace, s.getenv, "other://host/x", nil); err != nil {
		t.Fatal(err)
	}
	if err := check(s); err != nil {
		t.Errorf("CheckLog of the accepted log = %v", err)
	}
	s.write(t, "handoff.yaml", "log: other://v:secret@host/x")
	refused("another user", s)
	s.write(t, "handoff.yaml", "log: "+log)
	s.write(t, ".handoff/config.yaml", "log: other://w:secret@host/x")
	refused("another log in the private file", s)
	elsewhere := newSettings(t, "", "log: "+log)
	elsewhere.env = s.env
	refused("another workspace", elsewhere)

	stored, err := filepath.Glob(filepath.Join(s.env["HOME"], "*", "agent-handoff", "trust", "*"))
	if more, _ := filepath.Glob(filepath.Join(s.env["HOME"], "*", "*", "agent-handoff", "trust", "*")); err == nil {
		stored = append(stored, more...)
	}
	if len(stored) != 1 {
		t.Fatalf("stored %q, want one file", stored)
	}
	info, err := os.Stat(stored[0])
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
	if b, err := os.ReadFile(stored[0]); err != nil || strings.Contains(string(b), "secret") {
		t.Errorf("the file contains %q, %v, want no password", b, err)
	}
	for _, free := range []string{"log: 'file:'", ""} {
		if err := check(newSettings(t, free, "")); err != nil {
			t.Errorf("CheckLog of %q = %v", free, err)
		}
	}
	elsewhere.env = map[string]string{"HANDOFF_LOG": log}
	if err := check(elsewhere); err != nil {
		t.Errorf("CheckLog of HANDOFF_LOG = %v", err)
	}
}

// TestRemoteInsideWorkspace holds that a remote which HANDOFF_LOG names does not lead to
// a repository that the workspace brings. An absolute path is the user's choice.
func TestRemoteInsideWorkspace(t *testing.T) {
	s := newSettings(t, "", "")
	inside := filepath.Join(s.Root, "log.git")
	for _, tt := range []struct {
		log, to string
		ok      bool
	}{{"git:origin", inside, false}, {"git:log.git", inside, false}, {"git:" + inside, inside, true},
		{"git:origin", "/srv/log.git", true}, {"git:origin", "https://host/a.git", true}} {
		s.env = map[string]string{"HANDOFF_LOG": tt.log}
		c, err := s.load()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckLog(s.Workspace, s.getenv, []string{tt.to}); (err == nil) != tt.ok || err != nil &&
			!errors.Is(err, handoff.Invalid) {
			t.Errorf("CheckLog of %s, which leads to %s: %v, want allowed %v", tt.log, tt.to, err, tt.ok)
		}
	}
}

// TestTrustDestinations accepts a log with what it leads to, and no other destination.
func TestTrustDestinations(t *testing.T) {
	s := newSettings(t, "", "log: git:origin")
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	accepted := []string{"https://u:pa55word@host/a.git"}
	if err := c.TrustLog(s.Workspace, s.getenv, "git:origin", accepted); err != nil {
		t.Fatal(err)
	}
	if err := c.CheckLog(s.Workspace, s.getenv, accepted); err != nil {
		t.Errorf("CheckLog of the accepted destination = %v", err)
	}
	for _, other := range [][]string{nil, {"https://host/a.git"}, {"https://u:other@host/a.git"},
		{"https://u:pa55word@host/b.git"},
		{"https://u:pa55word@host/a.git", "https://u:pa55word@host/b.git"}, {"git@host:a.git"}, {"/srv/a.git"}} {
		err := c.CheckLog(s.Workspace, s.getenv, other)
		if !errors.Is(err, handoff.Invalid) || strings.Contains(err.Error(), "pa55word") {
			t.Errorf("CheckLog with %q = %v, want kind Invalid without a password", other, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(s.userFile()), "trust", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("stored %q, %v, want one file", files, err)
	}
	if b, err := os.ReadFile(files[0]); err != nil || strings.Contains(string(b), "pa55word") ||
		!strings.Contains(string(b), "destination https://host/a.git\n") {
		t.Errorf("the file contains %q, %v, want the destination without the password", b, err)
	}
	for _, inside := range []string{s.Root, filepath.Join(s.Root, "evil.git")} {
		if err := c.TrustLog(s.Workspace, s.getenv, "git:origin", []string{inside}); !errors.Is(err, handoff.Invalid) {
			t.Errorf("TrustLog of %s = %v, want kind Invalid", inside, err)
		}
	}
}
