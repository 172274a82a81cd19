package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
)

// TestUnreadableIsNotAbsent holds that only a file that is not there is said
// not to be: a bundle's config.yaml may be missing, and then others count.
func TestUnreadableIsNotAbsent(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("#", 1<<20+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]handoff.Kind{
		filepath.Join(dir, "nowhere"): handoff.NotFound,
		dir:                           handoff.Unavailable,
		large:                         handoff.Invalid,
	} {
		_, variables := config.LoadVariables(name)
		_, agent := config.LoadAgent(name)
		for _, err := range []error{variables, agent} {
			var e *handoff.Error
			if !errors.As(err, &e) || e.Kind != want || e.Name != name || e.Hint.IsZero() {
				t.Errorf("reading %s = %v, want kind %s, its name and a hint", name, err, want)
			}
		}
	}
}
