package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/jsonl"
	"github.com/spf13/cobra"
)

// JSONList prints the answer of a command as JSON. The answer has its items in a
// list, whose fields --fields selects. Error kind: Invalid (an unknown field).
func (a *App) JSONList(list string, answer any) error {
	if !a.selecting {
		return a.JSON(answer)
	}
	v := reflect.ValueOf(answer)
	at := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("json") == list })
	items := v.FieldByIndex(reflect.VisibleFields(v.Type())[at].Index)
	if err := a.checkFields(reflect.Zero(items.Type().Elem()).Interface()); err != nil {
		return err
	}
	selected := make([]json.RawMessage, items.Len())
	for i := range selected {
		var err error
		if selected[i], err = a.selectFields(items.Index(i).Interface()); err != nil {
			return err
		}
	}
	b, err := handoff.EncodeJSON(answer)
	if err != nil {
		return err
	}
	b, err = jsonl.WithFields(b, map[string]any{list: selected})
	return a.line(b, err)
}

// selectFields returns the JSON of v with the fields of --fields only.
func (a *App) selectFields(v any) ([]byte, error) {
	b, err := handoff.EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	return jsonl.Select(b, a.fields)
}

// checkFields returns an error for a name in --fields that the JSON of v can't
// have.
func (a *App) checkFields(v any) error {
	names := fieldNames(v)
	for _, name := range a.fields {
		if !slices.Contains(names, name) {
			return Invalid("", "--fields", fmt.Sprintf("unknown field %q", name), "use "+strings.Join(names, ","))
		}
	}
	if len(a.fields) == 0 {
		return Invalid("", "--fields", "no field given", "use "+strings.Join(names, ","))
	}
	return nil
}

// fieldNames returns the names of the fields that the JSON of v can have.
func fieldNames(v any) []string {
	if v, ok := v.(interface{ FieldNames() []string }); ok {
		return v.FieldNames()
	}
	return jsonl.FieldNames(v)
}

// checkOutput rejects flags about an output that the command does not print.
func (a *App) checkOutput(c *cobra.Command) error {
	given := c.Flags().Changed
	a.selecting = given("fields")
	table := "columns"
	if given("wide") {
		table = "wide"
	}
	switch {
	case a.selecting && !a.AsJSON:
		return Invalid(op(c), "", "--fields requires --json", "add --json, or use --columns")
	case a.AsJSON && given(table):
		return Invalid(op(c), "", "--json and --"+table+" are mutually exclusive", "leave one of them out; --fields selects the fields of JSON")
	}
	return nil
}
