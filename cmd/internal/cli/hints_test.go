package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff"
)

// TestEveryActionHasACommand reads the actions from their source, so that a new
// one can't be forgotten here.
func TestEveryActionHasACommand(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../../../hint.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	actions := 0
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range v.Values {
			text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			if handoff.Action(text) == handoff.ActionAllowSecret {
				continue // a flag of the command that was refused
			}
			actions++
			if commandLines[handoff.Action(text)] == "" {
				t.Errorf("%s has no command line", v.Names[i].Name)
			}
		}
		return true
	})
	if actions == 0 || actions != len(commandLines) {
		t.Errorf("hint.go has %d actions, commandLines has %d", actions, len(commandLines))
	}
}

func TestHintText(t *testing.T) {
	for _, tt := range []struct {
		hint handoff.Hint
		want string
	}{
		{handoff.Advice("shorten it"), "shorten it"},
		{handoff.Suggest("list every artifact", handoff.ActionListAll), "to list every artifact, run: handoff list --all"},
		{handoff.Suggest("", handoff.ActionShow, "a b"), "run: handoff show 'a b'"},
		{handoff.Suggest("", handoff.ActionReadTo, "x%y", "%"), "run: handoff read x%y --to %"},
	} {
		if got := HintText(tt.hint); got != tt.want {
			t.Errorf("HintText(%v) = %q, want %q", tt.hint, got, tt.want)
		}
	}
	for action, line := range commandLines {
		if got := CommandLine(action, "A", "B", "C", "D", "E", "F"); strings.Contains(got, "%") {
			t.Errorf("CommandLine(%s) = %q of %q, operands are missing", action, got, line)
		}
	}
}
