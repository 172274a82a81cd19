package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff/internal/config"
)

func TestOpened(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": filepath.Join(dir, "home")}
	getenv := func(name string) string { return env[name] }
	open := func(name string, inside ...string) string {
		t.Helper()
		place := filepath.Join(dir, name)
		for _, name := range append(inside, "sub") {
			if err := os.MkdirAll(filepath.Join(place, name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		w, err := config.Find(filepath.Join(place, "sub"), getenv)
		if err != nil {
			t.Fatal(err)
		}
		w.NoteOpened()
		return place
	}
	a, b := open("a", ".git"), open("b", ".handoff")
	open("a", ".git")
	env["HANDOFF_WORKSPACE"] = filepath.Join(dir, "neither") // whatever is above
	open("neither")
	env["HANDOFF_WORKSPACE"] = ""
	open("line\nbreak", ".git")
	if got := config.Opened(getenv); !slices.Equal(got, []string{a, b}) {
		t.Errorf("Opened() = %q, want %q", got, []string{a, b})
	}
	if err := os.RemoveAll(a); err != nil {
		t.Fatal(err)
	}
	if got := config.Opened(getenv); !slices.Equal(got, []string{b}) {
		t.Errorf("Opened() = %q, want %q", got, []string{b})
	}
	for i := range 1001 {
		open(fmt.Sprint("r", i), ".git")
	}
	got := config.Opened(getenv)
	if len(got) != 1000 || got[0] != filepath.Join(dir, "r1") {
		t.Errorf("Opened() has %d places from %s, want 1000 from r1", len(got), got[0])
	}
	env["HOME"] = ""
	if open("c", ".git"); config.Opened(getenv) != nil {
		t.Error("Opened() without HOME is not empty")
	}
}
