// Package guard tests the source tree: groups, budgets, names and texts. It has
// no code of its own.
package guard

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module root, seen from this package.
const root = "../.."

const module = "github.com/agent-handoff/handoff"

// testOnly are the packages that only tests import: the suites that every log
// and every provider must pass.
var testOnly = []string{"conformance/logtest", "conformance/threadtest", "cmd/internal/testlog",
	"internal/tool/secret/corpus", "internal/tool/testdir"}

// The budgets. When one is exceeded, split by subject, never by number.
const (
	maxFile      = 500
	maxFunc      = 100
	maxColumns   = 120
	maxInterface = 5
)

// edge are the packages that may read the clock, the environment and
// randomness. All others receive them as arguments.
var edge = []string{"cmd/internal/program", "workspace", "bench"}

var impure = map[string][]string{
	"time":        {"Now", "Since", "Until"},
	"os":          {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
	"crypto/rand": nil,
	"math/rand":   nil,
}

// vague are names that do not describe the purpose of a package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "service", "shared", "manager", "base",
	"misc"}

type source struct {
	name string // path in the module, with forward slashes
	pkg  string // folder
	file *ast.File
	fset *token.FileSet
	text []byte
}

func (s source) isTest() bool {
	return strings.HasSuffix(s.name, "_test.go") || slices.Contains(testOnly, s.pkg)
}

func (s source) lines(n ast.Node) int {
	return s.fset.Position(n.End()).Line - s.fset.Position(n.Pos()).Line + 1
}

// sources parses every Go file of this module. Nested modules are their own.
func sources(t *testing.T) []source {
	t.Helper()
	return parse(t, func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		return err == nil
	})
}

// withNested parses every Go file of this module and of those in its folders.
func withNested(t *testing.T) []source {
	t.Helper()
	return parse(t, func(dir string) bool { return filepath.Base(dir) == "node_modules" })
}

// parse parses the Go files of the tree, without folders that are skipped and those that the
// go command leaves out.
func parse(t *testing.T, skip func(dir string) bool) []source {
	t.Helper()
	var list []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if p != root && (skip(p) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "handoff-demo-") ||
				name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, p, text, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		list = append(list, source{name, path.Dir(name), f, fset, text})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPackageComments(t *testing.T) {
	docs := map[string][]string{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.name, "_test.go") {
			continue
		}
		docs[s.pkg] = append(docs[s.pkg], "")
		if s.file.Doc != nil {
			docs[s.pkg] = append(docs[s.pkg], s.name)
		}
	}
	for pkg, names := range docs {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "" })
		if len(names) != 1 {
			t.Errorf("package %s has %d package comments %v, want 1", pkg, len(names), names)
		}
		if slices.Contains(vague, path.Base(pkg)) {
			t.Errorf("package %s: the name does not describe its purpose", pkg)
		}
	}
}

func TestPurity(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || slices.Contains(edge, s.pkg) {
			continue
		}
		names := map[string][]string{}
		for _, spec := range s.file.Imports {
			p := strings.Trim(spec.Path.Value, `"`)
			banned, ok := impure[strings.TrimSuffix(p, "/v2")]
			if !ok {
				continue
			}
			if banned == nil {
				t.Errorf("%s imports %s; randomness is handed in", s.name, p)
			}
			names[path.Base(p)] = banned
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(names[x.Name], sel.Sel.Name) {
				t.Errorf("%s:%d uses %s.%s; clock and environment are handed in", s.name, s.fset.Position(sel.Pos()).Line, x.Name,
					sel.Sel.Name)
			}
			return true
		})
	}
}

// TestStart checks that no package compiles an expression when the program
// starts: every command would pay for it.
func TestStart(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, decl := range s.file.Decls {
			if _, ok := decl.(*ast.FuncDecl); ok {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && (sel.Sel.Name == "MustCompile" || sel.Sel.Name == "Must") {
					t.Errorf("%s:%d: it is made at start; sync.OnceValue makes it when it is used", s.name,
						s.fset.Position(sel.Pos()).Line)
				}
				_, later := n.(*ast.FuncLit)
				return !later
			})
		}
	}
}

// TestColumns checks that no line of a test is longer than maxColumns. Its tabs are one
// column each, while TestStyle counts four in other code.
func TestColumns(t *testing.T) {
	for _, s := range sources(t) {
		if s.hasStyle() {
			continue
		}
		for _, line := range wideLines(s, 1) {
			t.Errorf("%s:%d: wider than %d columns", s.name, line, maxColumns)
		}
	}
}

// TestErrors checks that errors are made by handoff.E.
func TestErrors(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 || s.name == "errors.go" {
				return true
			}
			sel, ok := lit.Type.(*ast.SelectorExpr)
			if ok && sel.Sel.Name == "Error" && fmt.Sprint(sel.X) == "handoff" {
				t.Errorf("%s:%d: make the error with handoff.E", s.name, s.fset.Position(lit.Pos()).Line)
			}
			return true
		})
	}
}

func TestBudgets(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || ast.IsGenerated(s.file) {
			continue
		}
		lines := s.fset.File(s.file.Pos()).LineCount()
		if lines > maxFile {
			t.Errorf("%s has %d lines, want at most %d", s.name, lines, maxFile)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if got := s.lines(n); got > maxFunc {
					t.Errorf("%s: func %s has %d lines, want at most %d", s.name, n.Name.Name, got, maxFunc)
				}
			case *ast.TypeSpec:
				if i, ok := n.Type.(*ast.InterfaceType); ok {
					if got := ownMethods(i); got > maxInterface {
						t.Errorf("%s: interface %s has %d methods, want at most %d", s.name, n.Name.Name, got, maxInterface)
					}
				}
			}
			return true
		})
	}
}

func ownMethods(i *ast.InterfaceType) int {
	n := 0
	for _, m := range i.Methods.List {
		n += len(m.Names)
	}
	return n
}

// TestDependencies checks that every required module is listed in
// DEPENDENCIES.md, in the version that is required, and no other does.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(string(mod)) {
		f := strings.Fields(line)
		if len(f) == 2 && strings.HasPrefix(f[1], "v") && strings.HasPrefix(line, "\t") {
			want = append(want, f[0]+" "+f[1])
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "DEPENDENCIES.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1], ".") {
			got = append(got, strings.TrimSpace(cells[1])+" "+strings.TrimSpace(cells[2]))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("DEPENDENCIES.md has %q\ngo.mod requires %q", got, want)
	}
}
