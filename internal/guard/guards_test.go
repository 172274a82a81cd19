// Package guard tests the source tree: layers, budgets, names and texts. It has
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

// layers gives each package its layer. A package imports only packages of lower
// layers. This is a policy: when a build breaks it, change the build. A change
// to the table is a decision, recorded in docs/adr.
var layers = map[string]int{
	"internal/tool/jsonschema": 0,
	"internal/tool/jsonl":      0,
	"internal/tool/durable":    0,
	"internal/tool/plainfile":  0,
	"internal/tool/nearest":    0,
	"internal/tool/printable":  0,
	"internal/trace/price":     0,
	"internal/tool/ulid":       0,
	"internal/tool/secret":     0,
	"internal/tool/words":      0,
	"internal/trace/pasted":    0,
	"internal/tool/git":        0,
	"internal/tool/userdir":    0,
	"internal/tool/safepath":   0,

	".": 1,

	"thread":                     2,
	"internal/log/content":       2,
	"internal/tool/formerdir":    2,
	"internal/config":            2,
	"internal/log/fold":          2,
	"internal/names/lineage":     2,
	"internal/trace/cost":        3,
	"internal/session/manifest":  2,
	"internal/tool/sqlite":       2,
	"internal/names":             2,
	"cmd/internal/preview":       2,
	"internal/log/remote":        2,
	"internal/log/checkpoint":    2,
	"internal/trace/pullrequest": 2,
	"internal/log/logcopy":       2,
	"internal/pipeline/contract": 2,
	"thread/internal/sqlsnap":    2,

	"internal/session":                   3,
	"internal/log/filelog":               3,
	"internal/log/sqlindex":              3,
	"internal/thread/collision":          3,
	"internal/thread/packed":             3,
	"thread/internal/archive":            3,
	"thread/internal/resume":             3,
	"internal/thread/threadindex/agents": 3,
	"internal/thread/threadindex/tail":   3,
	"internal/thread/threadindex/store":  3,
	"internal/thread/threadindex/scope":  3,
	"thread/page":                        3,
	"internal/pipeline/gate":             3,
	"internal/pipeline/folder":           3,
	"internal/names/refs":                3,
	"internal/thread/action":             3,
	"internal/thread/grep":               3,
	"internal/thread/converse":           3,
	"internal/thread/keep":               3,
	"internal/trace/evidence":            3,

	"internal/log/localstate":     4,
	"internal/log/queue":          4,
	"internal/thread/threadindex": 4,
	"internal/session/relocate":   4,
	"internal/trace/activity":     4,
	"internal/session/compare":    4,
	"internal/session/launch":     4,
	"internal/trace/hook":         4,
	"internal/pipeline":           4,
	"internal/pipeline/lessons":   4,
	"thread/*":                    4,

	"workspace/claims":          5,
	"workspace/conversations":   5,
	"workspace/pipelines":       5,
	"workspace/work":            5,
	"internal/trace/provenance": 5,
	"internal/session/transfer": 5,

	"workspace":  6,
	"thread/all": 6,

	"cmd/internal/demo": 7,
	"gitlog":            7,
	"bucketlog":         7,
	"natslog":           7,

	"cmd/internal/access":    8,
	"cmd/internal/cli":       8,
	"cmd/internal/evidence":  9,
	"cmd/internal/find":      9,
	"cmd/internal/sessions":  9,
	"cmd/internal/pipelines": 9,
	"cmd/internal/mcp":       9,
	"cmd/internal/setup":     9,
	"cmd/internal/work":      9,
	"cmd/internal/logs":      9,
	"cmd/internal/web":       9,
	"cmd/internal/program":   10,
	"cmd/handoff":            11,
	"cmd/agent-handoff":      11,
	"bench":                  10,
}

// testOnly are the packages that only tests import: the suites that every log
// and every provider must pass.
var testOnly = []string{"logtest", "threadtest", "cmd/internal/testlog", "internal/tool/secret/corpus"}

// stdlibOnly is the layer that imports nothing but the standard library.
const stdlibOnly = 1

// The budgets. When one is exceeded, split by subject, never by number.
const (
	maxFile      = 500
	maxFunc      = 60
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
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "service", "shared", "manager", "base", "misc"}

type source struct {
	name string // path in the module, with forward slashes
	pkg  string // folder
	file *ast.File
	fset *token.FileSet
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
	var list []source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := os.Stat(filepath.Join(p, "go.mod"))
			if p != root && (nested == nil || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "handoff-demo-") || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		list = append(list, source{name, path.Dir(name), f, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func layerOf(pkg string) (int, bool) {
	if f, ok := layers[pkg]; ok {
		return f, true
	}
	f, ok := layers[path.Dir(pkg)+"/*"]
	return f, ok
}

func TestLayers(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		layer, ok := layerOf(s.pkg)
		if !ok {
			t.Errorf("%s: package %s has no layer", s.name, s.pkg)
			continue
		}
		for _, spec := range s.file.Imports {
			if err := mayImport(s.pkg, layer, strings.Trim(spec.Path.Value, `"`)); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}

// TestLayersExist checks that the table lists no package that does not exist.
func TestLayersExist(t *testing.T) {
	packages := map[string]bool{}
	for _, s := range sources(t) {
		packages[s.pkg] = true
		packages[path.Dir(s.pkg)+"/*"] = true
	}
	for pkg := range layers {
		if !packages[pkg] {
			t.Errorf("package %s has a layer and does not exist", pkg)
		}
	}
	for _, pkg := range testOnly {
		if !packages[pkg] {
			t.Errorf("package %s is for tests only and does not exist", pkg)
		}
	}
}

func mayImport(pkg string, layer int, imported string) error {
	inside := imported == module || strings.HasPrefix(imported, module+"/")
	if !inside {
		if layer <= stdlibOnly && strings.Contains(strings.Split(imported, "/")[0], ".") {
			return fmt.Errorf("imports %s; layers 0 and 1 have the standard library only", imported)
		}
		return nil
	}
	below := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
	if below == "" {
		below = "."
	}
	if slices.Contains(testOnly, below) {
		return fmt.Errorf("imports %s, which is for tests", below)
	}
	if other, ok := layerOf(below); !ok || other >= layer {
		return fmt.Errorf("package %s on layer %d imports %s on layer %d", pkg, layer, below, other)
	}
	return nil
}

func TestMayImport(t *testing.T) {
	for _, tt := range []struct {
		pkg, imported string
		ok            bool
	}{
		{".", "context", true},
		{".", "github.com/spf13/cobra", false},
		{".", module + "/internal/log/filelog", false},
		{"internal/log/filelog", module, true},
		{"internal/log/filelog", module + "/internal/log/sqlindex", false}, // the same layer
		{"internal/log/filelog", module + "/workspace", false},
		{"thread/codex", module + "/thread", true},
		{"thread/codex", module + "/thread/claude", false},
		{"workspace", module + "/logtest", false},
		{"workspace", module + "/nowhere", false},
		{"cmd/internal/program", module + "/workspace", true},
		{"cmd/internal/sessions", module + "/cmd/internal/cli", true},
		{"cmd/internal/cli", module + "/cmd/internal/sessions", false},
	} {
		layer, ok := layerOf(tt.pkg)
		if !ok {
			t.Fatalf("%s has no layer", tt.pkg)
		}
		if err := mayImport(tt.pkg, layer, tt.imported); (err == nil) != tt.ok {
			t.Errorf("mayImport(%s, %s) = %v, want ok %v", tt.pkg, tt.imported, err, tt.ok)
		}
	}
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
				t.Errorf("%s:%d uses %s.%s; clock and environment are handed in", s.name, s.fset.Position(sel.Pos()).Line, x.Name, sel.Sel.Name)
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
					t.Errorf("%s:%d: it is made at start; sync.OnceValue makes it when it is used", s.name, s.fset.Position(sel.Pos()).Line)
				}
				_, later := n.(*ast.FuncLit)
				return !later
			})
		}
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
