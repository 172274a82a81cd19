package guard

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// destructive is what no hint or error may propose: agents do what they read.
var destructive = regexp.MustCompile(
	`(?i)\b(rm|rmdir|unlink|delete|remove|erase|wipe|purge|truncate|overwrite|discard|kill|chmod|chown|sudo|start over)\b` +
		`|--force\b|\breset --|\bgit (clean|checkout|reset|stash|push)\b|\bmv\b`)

// errorMakers make errors and hints out of texts.
var errorMakers = []string{"New", "Errorf", "Advice", "Suggest"}

// called returns the name of the function that is called, without its package.
func called(n *ast.CallExpr) string {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// typeName returns the name of a type, without its package and its pointer.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	}
	return ""
}

// makers returns the functions that turn a text which they are given into an
// error or a hint: those that pass a parameter to another of them.
func makers(list []source) []string {
	names := slices.Clone(errorMakers)
	for grown := true; grown; {
		grown = false
		for _, s := range list {
			for _, decl := range s.file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok || f.Body == nil || slices.Contains(names, f.Name.Name) || !returnsError(f) {
					continue
				}
				params := stringParams(f)
				eachErrorText(f.Body, names, func(n ast.Node) {
					id, ok := n.(*ast.Ident)
					if ok && slices.Contains(params, id.Name) && !slices.Contains(names, f.Name.Name) {
						names, grown = append(names, f.Name.Name), true
					}
				})
			}
		}
	}
	return names
}

func returnsError(f *ast.FuncDecl) bool {
	return f.Type.Results != nil && slices.ContainsFunc(f.Type.Results.List, func(r *ast.Field) bool {
		return slices.Contains([]string{"error", "Error", "Hint"}, typeName(r.Type))
	})
}

func stringParams(f *ast.FuncDecl) (names []string) {
	for _, p := range f.Type.Params.List {
		if typeName(p.Type) == "string" {
			for _, name := range p.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// eachErrorText calls do with every node that is part of the text of an error
// or a hint.
func eachErrorText(n ast.Node, makers []string, do func(ast.Node)) {
	within := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if n != nil {
				do(n)
			}
			return true
		})
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if slices.Contains(makers, called(n)) {
				for _, arg := range n.Args {
					within(arg)
				}
			}
		case *ast.CompositeLit:
			if n.Type != nil && slices.Contains([]string{"Error", "Hint"}, typeName(n.Type)) {
				within(n)
			}
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Hint" {
				within(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if id := typeName(left); (id == "hint" || id == "Hint") && i < len(n.Rhs) {
					within(n.Rhs[i])
				}
			}
		}
		return true
	})
}

// TestNothingDestructiveIsProposed checks the texts of errors and hints.
func TestNothingDestructiveIsProposed(t *testing.T) {
	list := slices.DeleteFunc(sources(t), source.isTest)
	names := makers(list)
	for _, helper := range []string{"Invalid", "unknownCommand"} {
		if !slices.Contains(names, helper) {
			t.Errorf("%s is not recognized as a function that makes errors, of %v", helper, names)
		}
	}
	checked := map[token.Pos]bool{}
	for _, s := range list {
		eachErrorText(s.file, names, func(n ast.Node) {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING || checked[lit.Pos()] {
				return
			}
			checked[lit.Pos()] = true
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if found := destructive.FindString(text); found != "" {
				t.Errorf("%s: %q proposes to %s", s.fset.Position(lit.Pos()), text, found)
			}
		})
	}
	if len(checked) < 300 {
		t.Errorf("checked %d texts, which can't be all", len(checked))
	}
}

func TestDestructive(t *testing.T) {
	for _, text := range []string{"rm -rf .handoff", "delete index.db and try again", "git reset --hard",
		"publish --force", "Remove the file"} {
		if !destructive.MatchString(text) {
			t.Errorf("%q is not recognized as destructive", text)
		}
	}
	for _, text := range []string{"nothing is deleted", "handoff check --repair",
		"handoff list --all shows every artifact", "confirm", "removed"} {
		if destructive.MatchString(text) {
			t.Errorf("%q is taken for destructive", text)
		}
	}
}

// variable is a variable of the environment. MCP shows hints to models, which can't set
// one.
var variable = regexp.MustCompile(`\b(HANDOFF|AWS|NATS|XDG)_[A-Z]|\bHOME\b`)

// TestAdvice checks that hints have variables where a surface can leave them out, and that the
// text before a command is one clause.
func TestAdvice(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || strings.HasPrefix(s.name, "cmd/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || (called(call) != "Advice" && called(call) != "Suggest") {
				return true
			}
			text, isText := call.Args[0].(*ast.BasicLit)
			if isText && called(call) == "Suggest" && strings.Contains(text.Value, ";") {
				t.Errorf("%s: the hint %s is written as \"to TEXT, run: COMMAND\"", s.name, text.Value)
			}
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && variable.MatchString(lit.Value) {
						t.Errorf("%s: the hint %s names a variable: use Hint.OrSet", s.name, lit.Value)
					}
					return true
				})
			}
			return true
		})
	}
}

// TestActionsUsed checks that some hint or page proposes each action: the tables of the command
// line and of MCP have lines for no others. Pages name them by their text.
func TestActionsUsed(t *testing.T) {
	tables := []string{"hint.go", "cmd/internal/cli/hints.go", "cmd/internal/mcp/failure.go"}
	action := regexp.MustCompile(`^Action[A-Z]\w*$`)
	used := map[string]bool{}
	for _, s := range withNested(t) {
		if s.isTest() || slices.Contains(tables, s.name) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && action.MatchString(id.Name) {
				used[id.Name] = true
			}
			return true
		})
	}
	declared := map[string]string{} // by text
	for _, m := range matches(t, "../../hint.go", `(Action\w+)\s+Action = "([^"]+)"`) {
		declared[m[2]] = m[1]
	}
	pages, err := filepath.Glob("../../cmd/internal/*/templates/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no templates: %v", err)
	}
	for _, page := range pages {
		for _, m := range matches(t, page, `\(command "([^"]+)"`) {
			if declared[m[1]] == "" {
				t.Errorf("%s proposes %q, which is no action", page, m[1])
			}
			used[declared[m[1]]] = true
		}
	}
	for _, name := range declared {
		if !used[name] {
			t.Errorf("no hint and no page proposes %s", name)
		}
	}
	if len(declared) < 20 {
		t.Errorf("found %d actions in hint.go, which can't be all", len(declared))
	}
}

// matches returns the matches of a pattern in a file, each with its groups.
func matches(t *testing.T, file, pattern string) [][]string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1)
}
