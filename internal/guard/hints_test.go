package guard

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"testing"
)

// destructive is what no text of handoff's may propose: agents do what error
// texts say.
var destructive = regexp.MustCompile(`(?i)\b(rm|rmdir|unlink|delete|remove|erase|wipe|purge|truncate|overwrite|discard|kill|chmod|chown|sudo|start over)\b` +
	`|--force\b|\breset --|\bgit (clean|checkout|reset|stash|push)\b|\bmv\b`)

// statement is the beginning of what is said to a database, and to nobody else.
var statement = regexp.MustCompile(`^(DELETE FROM|DROP TABLE) `)

// TestNothingDestructiveIsProposed looks at every text in the sources, since
// any may end in an error or a hint.
func TestNothingDestructiveIsProposed(t *testing.T) {
	looked := 0
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			looked++
			if statement.MatchString(text) {
				return true
			}
			if found := destructive.FindString(text); found != "" {
				t.Errorf("%s: %q proposes to %s", s.fset.Position(lit.Pos()), text, found)
			}
			return true
		})
	}
	if looked < 500 {
		t.Errorf("looked at %d texts, which can't be all", looked)
	}
}

func TestDestructive(t *testing.T) {
	for _, text := range []string{"rm -rf .handoff", "delete index.db and try again", "git reset --hard", "publish --force", "Remove the file"} {
		if !destructive.MatchString(text) {
			t.Errorf("%q is not taken for destructive", text)
		}
	}
	for _, text := range []string{"nothing is deleted", "handoff check --repair", "handoff list --all shows every artifact", "confirm", "removed"} {
		if destructive.MatchString(text) {
			t.Errorf("%q is taken for destructive", text)
		}
	}
}
