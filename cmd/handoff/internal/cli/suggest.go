package cli

import (
	"errors"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// UnknownCommand names what the caller may have meant.
func UnknownCommand(root *cobra.Command, name string) error {
	hint := root.CommandPath() + " --help lists the commands"
	if near := root.SuggestionsFor(name); len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(len(near), 3)], ", ") + "?"
	}
	return &handoff.Error{Op: name, Kind: handoff.Invalid, Err: errors.New("no such command"), Hint: handoff.Advice(hint)}
}

// op is what an error of a command's words begins with: its name, and those of
// the commands above it, but for the program's, which stands there anyway.
func op(c *cobra.Command) string {
	return strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), c.Root().Name()))
}

// flagError is called for flags that can't be parsed.
func flagError(c *cobra.Command, err error) error {
	hint := c.CommandPath() + " --help lists the flags"
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if near := nearestFlag(c, unknown.GetSpecifiedName()); near != "" {
			hint = "did you mean --" + near + "?"
		}
	}
	return &handoff.Error{Op: op(c), Kind: handoff.Invalid, Err: err, Hint: handoff.Advice(hint)}
}

func nearestFlag(c *cobra.Command, name string) string {
	best, least := "", 3
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < least || strings.HasPrefix(f.Name, name) && best == "" {
			best, least = f.Name, d
		}
	})
	return best
}

// distance is the number of single characters by which two words differ.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j]+1, row[j+1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
