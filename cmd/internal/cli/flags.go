package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// DefaultLimit is how many items a list shows unless more are requested.
const DefaultLimit = 50

// JSONFlag gives a command the flag that sets AsJSON, and states what it then prints.
func (a *App) JSONFlag(c *cobra.Command, usage string, answers ...Answer) {
	c.Flags().BoolVar(&a.AsJSON, "json", false, usage)
	Answers(a, c, answers...)
}

// AllowSecretFlag gives a command the flag that sets AllowSecret.
func (a *App) AllowSecretFlag(c *cobra.Command) {
	c.Flags().BoolVar(&a.AllowSecret, "allow-secret", false,
		"record what looks like a secret, and files that usually hold credentials")
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
			return nil, Invalid("", flag, fmt.Sprintf("%q is not in key=value form", s), "write "+flag+" key=value")
		}
		if _, twice := m[key]; twice {
			return nil, Invalid("", flag, fmt.Sprintf("duplicate key %q", key), "pass "+flag+" once for each key")
		}
		m[key] = value
	}
	return m, nil
}

// Absolute returns a path that is relative to dir as an absolute path.
func Absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// Exactly accepts n arguments, which are described by what.
func Exactly(n int, what string) cobra.PositionalArgs { return Between(n, n, what) }

// Between accepts at least and at most that many arguments, which are described
// by what.
func Between(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if n := len(args); least <= n && n <= most {
			return nil
		}
		reason := fmt.Errorf("requires %s, got %d arguments", what, len(args))
		switch {
		case most == 0:
			reason = fmt.Errorf("unexpected argument %q", args[0])
		case len(args) == 1:
			reason = fmt.Errorf("requires %s, got 1 argument", what)
		}
		return handoff.E(op(c), "", handoff.Invalid, reason, handoff.Advice("usage: "+c.UseLine()))
	}
}

var errRepeated = errors.New("given twice")

// A single is the value of a flag that can be given once. Without it the last
// of several values would win silently.
type single struct {
	pflag.Value
	given bool
}

func (s *single) Set(text string) error {
	if s.given {
		return errRepeated
	}
	s.given = true
	return s.Value.Set(text)
}

// rejectRepeats makes every flag of a command and its subcommands that is not a
// list refuse a second value.
func rejectRepeats(c *cobra.Command) {
	eachFlag(c, func(f *pflag.Flag) {
		_, list := f.Value.(pflag.SliceValue)
		_, done := f.Value.(*single)
		if !list && !done {
			f.Value = &single{Value: f.Value}
		}
	})
}

// unquoteUsages removes the back-quotes that mark the names of values in help:
// a shell that completes a flag shows its usage as it is.
func unquoteUsages(c *cobra.Command) {
	eachFlag(c, func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
}

// eachFlag calls do with every flag of a command and its subcommands, and with
// some of them twice.
func eachFlag(c *cobra.Command, do func(*pflag.Flag)) {
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(do)
	c.PersistentFlags().VisitAll(do)
	for _, sub := range c.Commands() {
		eachFlag(sub, do)
	}
}
