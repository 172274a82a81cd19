package cli

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/spf13/cobra"
)

// DefaultLimit is how many lines a list has unless more are asked for.
const DefaultLimit = 50

// JSONFlag gives a command the flag --json, which sets AsJSON.
func (a *App) JSONFlag(c *cobra.Command, usage string) {
	c.Flags().BoolVar(&a.AsJSON, "json", false, usage)
}

// Pairs parses key=value flags.
func Pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	m := map[string]string{}
	for _, s := range list {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, Invalid(flag, s, "is no key=value", "write "+flag+" key=value")
		}
		if _, twice := m[key]; twice {
			return nil, Invalid(flag, s, "gives a key twice", "write "+flag+" once for each key")
		}
		m[key] = value
	}
	return m, nil
}

// Moment parses a time: how long ago, a date, or RFC 3339.
func Moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Invalid(flag, text, "is no time", "write 2h, 3d, 2026-11-21 or 2026-11-21T09:00:00Z")
}

// Absolute returns a path as it is seen from dir.
func Absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// Exactly returns an error unless there are n arguments.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		reason := fmt.Errorf("takes %s, not %d arguments", what, len(args))
		if n == 0 {
			reason = fmt.Errorf("takes no arguments, not %q", args[0])
		}
		return &handoff.Error{Op: op(c), Kind: handoff.Invalid, Err: reason, Hint: handoff.Advice("usage: " + c.UseLine())}
	}
}
