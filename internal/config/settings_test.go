package config_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
	"github.com/agent-handoff/handoff/settings"
)

// classes has every setting and who decides it. What keeps or sends private data, or
// names a program, is the user's: a commit of a repository must not change it. The
// others can be shared by a repository, or be in either.
var classes = map[string]struct{ class, value string }{
	"keep_threads":  {"user", "true"},
	"retention":     {"user", "keep-last 3"},
	"share_threads": {"user", "true"},
	"review_from":   {"user", "/keys"},
	"prices":        {"user", "~/prices.json"},

	"channels": {"shared", "{own: purpose}"},
	"log":      {"shared", "other://host/x"}, // which the user has to accept

	"keep":                 {"either", "never"},
	"queue":                {"either", "false"},
	"limits.digest":        {"either", "1024"},
	"limits.worktree_keep": {"either", "2048"},
	"archive_after":        {"either", "30d"},
	"output_folder":        {"either", "'{project-root}/out'"},
	"agent_outputs_folder": {"either", "'{project-root}/runs'"},
}

// TestSettingsDocument checks that the table of docs/settings.md has every setting and no other.
func TestSettingsDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| setting |")
	table, _, _ = strings.Cut(table, "\n\n")
	var got []string
	for line := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			got = append(got, m[1])
		}
	}
	slices.Sort(got)
	if want := slices.Sorted(maps.Keys(classes)); !slices.Equal(got, want) {
		t.Errorf("docs/settings.md has the settings %q, want %q", got, want)
	}
}

// names returns the settings that a struct has, with a dot for those of a struct in it.
func names(t reflect.Type, prefix string) (list []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch name := f.Tag.Get("yaml"); {
		case name == "" && f.IsExported():
			list = append(list, prefix+f.Name+" without a name")
		case name == "":
		case f.Type.Kind() == reflect.Struct:
			list = append(list, names(f.Type, prefix+name+".")...)
		default:
			list = append(list, prefix+name)
		}
	}
	return list
}

// line returns a setting as a file has it.
func line(name, value string) string {
	if group, key, ok := strings.Cut(name, "."); ok {
		return fmt.Sprintf("%s: {%s: %s}\n", group, key, value)
	}
	return fmt.Sprintf("%s: %s\n", name, value)
}

// applies reports whether a setting has a value that applies, and whether one is ignored.
func applies(c config.Config, name string) (applies, ignored bool) {
	for _, s := range c.Settings() {
		if s.Name == name || strings.HasPrefix(s.Name, name+".") {
			applies = applies || !s.Ignored && s.Source != "default"
			ignored = ignored || s.Ignored
		}
	}
	return applies, ignored
}

// TestSettingsAreClassified fails for a setting without a class, and checks for each
// which files can have it.
func TestSettingsAreClassified(t *testing.T) {
	all := names(reflect.TypeFor[config.Config](), "")
	for name := range classes {
		if !slices.Contains(all, name) {
			t.Errorf("%s has a class and is no setting", name)
		}
	}
	for _, name := range all {
		c, ok := classes[name]
		if !ok {
			t.Errorf("%s has no class: add it here and in places", name)
			continue
		}
		text := line(name, c.value)
		for _, file := range []string{"handoff.yaml", ".handoff/config.yaml"} {
			s := newSettings(t, "", "")
			s.write(t, file, text)
			loaded, err := s.load()
			got, ignored := applies(loaded, name)
			if c.class == "user" && (err != nil || got || !ignored || loaded.KeepsThreads() || loaded.SharesThreads()) {
				t.Errorf("%s in %s: applies %t, ignored %t, %v, want it ignored", name, file, got, ignored, err)
			}
			if c.class != "user" && ignored {
				t.Errorf("%s in %s is ignored", name, file)
			}
			if c.class != "user" && file == ".handoff/config.yaml" && (err != nil || !got) {
				t.Errorf("%s in %s: applies %t, %v", name, file, got, err)
			}
		}
		s := newSettings(t, "", "")
		err := s.set(settings.Change{Name: name, Value: strings.Trim(c.value, "'")})
		loaded, loadErr := s.load()
		if got, _ := applies(loaded, name); loadErr != nil || got != (c.class != "shared") || got != (err == nil) {
			t.Errorf("%s of the user: applies %t, %v, %v", name, got, err, loadErr)
		}
	}
}

func (s set) set(change settings.Change) error {
	return config.Set(context.Background(), s.Workspace, s.getenv, change)
}

// userFile is the user's own file of settings.
func (s set) userFile() string { return filepath.Join(userdir.Config(s.getenv), "config.yaml") }

// TestUserWins gives a setting in every place.
func TestUserWins(t *testing.T) {
	s := newSettings(t, "keep: auto\n", "keep: always\n")
	for _, tt := range []struct {
		change settings.Change
		want   handoff.Keep
	}{
		{settings.Change{Name: "queue", Value: "true"}, handoff.KeepAuto},
		{settings.Change{Name: "keep", Value: "never", Defaults: true}, handoff.KeepNever},
		{settings.Change{Name: "keep", Value: "always"}, handoff.KeepAlways},
		{settings.Change{Name: "keep", Unset: true}, handoff.KeepNever},
		{settings.Change{Name: "keep", Unset: true}, handoff.KeepNever},
		{settings.Change{Name: "keep", Unset: true, Defaults: true}, handoff.KeepAuto},
	} {
		if err := s.set(tt.change); err != nil {
			t.Fatalf("Set(%+v) = %v", tt.change, err)
		}
		if c, err := s.load(); err != nil || c.Keep != tt.want {
			t.Errorf("after %+v keep is %q, %v, want %q", tt.change, c.Keep, err, tt.want)
		}
	}
	if err := s.set(settings.Change{Name: "keep_threads", Value: "true", Defaults: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.set(settings.Change{Name: "keep_threads", Value: "false"}); err != nil {
		t.Fatal(err)
	}
	if c, err := s.load(); err != nil || c.KeepsThreads() || c.Source("keep_threads") != s.userFile() {
		t.Errorf("keep_threads is %t of %s, %v, want false of the user", c.KeepsThreads(), c.Source("keep_threads"), err)
	}
	other := newSettings(t, "", "")
	other.env = s.env
	if c, err := other.load(); err != nil || !c.KeepsThreads() {
		t.Errorf("keep_threads of another workspace is %t, %v, want the default of the user", c.KeepsThreads(), err)
	}
}

// TestSetRefused changes nothing.
func TestSetRefused(t *testing.T) {
	s := newSettings(t, "", "")
	for _, change := range []settings.Change{
		{Name: "keep_threads", Value: "maybe"}, {Name: "keep_threads", Value: ""}, {Name: "keep_threads", Value: "Null"},
		{Name: "keep_threads", Value: "[true]"},
		{Name: "keep", Value: "no"}, {Name: "limits.digest", Value: "many"}, {Name: "archive_after", Value: "30"},
		{Name: "limits", Value: "1"},
		{Name: "log", Value: "git:origin"}, {Name: "channels", Value: "{}"}, {Name: "nothing", Value: "1"},
		{Name: "nothing", Unset: true},
		{Name: "share_threads", Value: "true", Defaults: true}, {Name: "queue", Value: "true\nlog: x"},
		{Name: "queue", Value: "*a"},
	} {
		if err := s.set(change); !errors.Is(err, handoff.Invalid) {
			t.Errorf("Set(%+v) = %v, want kind Invalid", change, err)
		}
	}
	if _, err := os.Stat(s.userFile()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused change wrote the file: %v", err)
	}
	s.env = nil
	if err := s.set(settings.Change{Name: "queue", Value: "true"}); !errors.Is(err, handoff.Unavailable) {
		t.Errorf("Set without a directory = %v, want kind Unavailable", err)
	}
}

// TestUserFileRefused reads files with a mistake in the section of another workspace.
func TestUserFileRefused(t *testing.T) {
	for text, says := range map[string]string{
		"keep_threads: true":                              "line 1",
		"defaults: {share_threads: true}":                 "defaults: share_threads: can't be set",
		"workspaces: {/elsewhere: {log: 'git:origin'}}":   "/elsewhere: log: can't be set",
		"workspaces: {/elsewhere: {keep: maybe}}":         "/elsewhere: keep: ",
		"workspaces: {/elsewhere: {keep_thread: true}}":   "line 1",
		"defaults: {keep: never}\ndefaults: {keep: auto}": "line 2",
	} {
		s := newSettings(t, "", "")
		if err := os.MkdirAll(filepath.Dir(s.userFile()), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.userFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := s.load(); !errors.Is(err, handoff.Invalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("Load with %q = %v, want kind Invalid with %q", text, err, says)
		}
		if err := s.set(settings.Change{Name: "queue", Value: "true"}); !errors.Is(err, handoff.Invalid) {
			t.Errorf("Set with %q = %v, want kind Invalid", text, err)
		}
		if b, err := os.ReadFile(s.userFile()); err != nil || string(b) != text {
			t.Errorf("the file with a mistake is %q, %v, want it unchanged", b, err)
		}
	}
}

// TestSetKeepsComments changes a file that a person wrote, behind a link.
func TestSetKeepsComments(t *testing.T) {
	s := newSettings(t, "", "")
	file := s.userFile()
	kept := filepath.Join(t.TempDir(), "dotfiles.yaml")
	const before = "# mine\ndefaults:\n  keep: never # no copies\nworkspaces: {}\n# the end\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(kept, []byte(before), 0o644),
		os.Symlink(kept, file)); err != nil {
		t.Fatal(err)
	}
	if err := s.set(settings.Change{Name: "limits.digest", Value: "64MiB"}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	want := "# mine\ndefaults:\n  keep: never # no copies\nworkspaces:\n  " + s.Home() +
		":\n    limits:\n      digest: 64MiB\n# the end\n"
	if string(b) != want {
		t.Errorf("the file is\n%s, want\n%s", b, want)
	}
	info, err := os.Lstat(file)
	if err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the file is no link any more: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("the file has mode %v, %v, want 0600", info.Mode(), err)
	}
	if err := os.WriteFile(kept, []byte("# only a comment\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.set(settings.Change{Name: "queue", Value: "false"}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(kept); err != nil || !strings.HasPrefix(string(b), "# only a comment\nworkspaces:\n") {
		t.Errorf("the file is\n%s, %v, want its comment kept", b, err)
	}
}

// TestSetAtOnce changes settings of many workspaces at the same time.
func TestSetAtOnce(t *testing.T) {
	env := map[string]string{"HOME": t.TempDir()}
	var list []set
	var all sync.WaitGroup
	for range 4 * runtime.NumCPU() {
		s := newSettings(t, "", "")
		s.env = env
		list = append(list, s)
		all.Go(func() {
			if err := s.set(settings.Change{Name: "share_threads", Value: "true"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, s := range list {
		if c, err := s.load(); err != nil || !c.SharesThreads() {
			t.Errorf("share_threads of %s is %t, %v, want what was set", s.Root, c.SharesThreads(), err)
		}
	}
}
