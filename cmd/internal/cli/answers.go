package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/schema"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/spf13/cobra"
)

// An Answer is one form of what a command prints with --json.
type Answer struct {
	flag  string // it selects this form, "" for none
	value any    // of its type, nil for an object of a form that handoff does not define
}

// Prints is the answer that has the type of a value.
func Prints(value any) Answer { return Answer{value: value} }

// PrintsWith is the answer to a command with a flag.
func PrintsWith(flag string, value any) Answer { return Answer{flag, value} }

// An errorAnswer is what a command that fails prints with --json.
type errorAnswer struct {
	Error Failure `json:"error"`
}

// Answers states what a command prints with --json. There can be several forms that no
// flag selects.
func Answers(a *App, c *cobra.Command, answers ...Answer) {
	if a.answers == nil {
		a.answers = map[*cobra.Command][]Answer{}
	}
	a.answers[c] = answers
}

// printSchema prints the JSON Schema of what commands and their subcommands print with
// --json: of any answer, and by command in "x-commands".
func printSchema(a *App, w io.Writer, commands []*cobra.Command, _ bool) {
	set := schema.NewSet()
	forms := []*jsonschema.Schema{set.Add(errorAnswer{})}
	byCommand := map[string][]*jsonschema.Schema{}
	for _, c := range withSubcommands(commands[0]) {
		for _, answer := range a.answers[c] {
			form := &jsonschema.Schema{Type: "object"}
			if answer.value != nil {
				form = set.Add(answer.value)
			}
			if !slices.ContainsFunc(forms, func(known *jsonschema.Schema) bool { return known.Ref == form.Ref }) {
				forms = append(forms, form)
			}
			if named := *form; answer.flag != "" {
				named.Extra = map[string]any{"x-flag": answer.flag}
				form = &named
			}
			byCommand[path(c)] = append(byCommand[path(c)], form)
		}
	}
	printAsJSON(w, &jsonschema.Schema{Schema: schema.Dialect, Title: "What " + commands[0].CommandPath() +
		" prints with --json", AnyOf: forms, Defs: set.Defs, Extra: map[string]any{"x-commands": byCommand}})
}

// printAsJSON prints what consists of types of this program.
func printAsJSON(w io.Writer, v any) {
	b, err := handoff.EncodeJSONIndent(v)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(w, "%s\n", b)
}

// path returns the words that call a command.
func path(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}
