package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/spf13/cobra"
)

// JSONList prints the answer of a command as JSON. The answer has its items in a
// list, whose fields --fields selects. Error kind: Invalid (an unknown field).
func (a *App) JSONList(list string, answer any) error {
	if !a.selecting {
		return a.JSON(answer)
	}
	v := reflect.ValueOf(answer)
	at := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool {
		return f.Tag.Get("json") == list
	})
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

// JSONItems is JSONList for a list that need not be in memory: answer returns the
// answer without its items once they have been printed. The list must be its
// first field.
func JSONItems[T any](a *App, list string, items iter.Seq2[T, error], answer func() any) error {
	encode, head, separator, tail := handoff.EncodeJSONIndent, "{\n  \""+list+"\": [", "\n    ", "\n  "
	if a.selecting {
		encode, head, separator, tail = a.selectFields, `{"`+list+`":[`, "", ""
		if err := a.checkFields(*new(T)); err != nil {
			return err
		}
	}
	begin := head
	for item, err := range items {
		if err != nil {
			return err
		}
		b, err := encode(item)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "%s%s%s", begin, separator,
			bytes.ReplaceAll(b, []byte("\n"), []byte("\n    "))); err != nil {
			return err
		}
		begin = ","
	}
	if a.selecting {
		encode = handoff.EncodeJSON
	}
	b, err := encode(answer())
	if begin == "," && err == nil {
		b = append([]byte(tail), bytes.TrimPrefix(b, []byte(head))...)
	}
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
	parts := []any{v}
	if v, ok := v.(interface{ JSONParts() []any }); ok {
		parts = v.JSONParts()
	}
	names := jsonl.FieldNames(parts...)
	slices.Sort(names)
	return slices.Compact(names)
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
		return Invalid(op(c), "", "--json and --"+table+" are mutually exclusive",
			"leave one of them out; --fields selects the fields of JSON")
	}
	return nil
}
