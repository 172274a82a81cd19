package guard

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// The most that a package and a type may export.
const (
	maxNames     = 40
	maxMethods   = 25
	maxWorkspace = 35 // methods of workspace.Workspace
	maxWide      = 3  // exceptions
)

// wide are the packages and types that export more, and why.
var wide = map[string]string{
	".":                   "records, facts, views and queries: the words that every other package uses",
	"thread":              "what a thread has, in every format, and what reads them",
	"workspace.Workspace": "the use cases of artifacts, and the values that have the others",
}

// TestSurface checks how many names packages export, and how many methods their types.
func TestSurface(t *testing.T) {
	exported := map[string]map[string]bool{}
	methods := map[string]int{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		if exported[s.pkg] == nil {
			exported[s.pkg] = map[string]bool{}
		}
		for _, name := range exportedNames(s.file) {
			if owner, _, method := strings.Cut(name, "."); method {
				methods[s.pkg+"."+owner]++
			} else {
				exported[s.pkg][name] = true
			}
		}
	}
	used := map[string]bool{}
	check := func(what string, n, most int, unit string) {
		if n <= most {
			return
		}
		if used[what] = true; wide[what] == "" {
			t.Errorf("%s exports %d %s, want at most %d", what, n, unit, most)
		}
	}
	for pkg, names := range exported {
		check(pkg, len(names), maxNames, "names")
	}
	for owner, n := range methods {
		check(owner, n, maxMethods, "methods")
	}
	if n := methods["workspace.Workspace"]; n > maxWorkspace {
		t.Errorf("workspace.Workspace has %d methods, want at most %d", n, maxWorkspace)
	}
	for what := range wide {
		if !used[what] {
			t.Errorf("%s is an exception, and exports no more than is allowed", what)
		}
	}
	if len(wide) > maxWide {
		t.Errorf("%d exceptions, want at most %d", len(wide), maxWide)
	}
}

// exportedNames returns the exported names of a file, and the methods as TYPE.METHOD. The
// constants of one type in a declaration count as one.
func exportedNames(f *ast.File) (list []string) {
	add := func(name string, ident *ast.Ident) {
		if ident.IsExported() {
			list = append(list, name)
		}
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = typeName(d.Recv.List[0].Type) + "." + name
			}
			add(name, d.Name)
		case *ast.GenDecl:
			kind := ""
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name.Name, spec.Name)
				case *ast.ValueSpec:
					if spec.Type != nil {
						kind = "constants of " + typeName(spec.Type)
					} else if len(spec.Values) > 0 { // else of the type before
						kind = fmt.Sprint("constants at ", d.Pos())
					}
					for _, ident := range spec.Names {
						name := ident.Name
						if d.Tok == token.CONST {
							name = kind
						}
						add(name, ident)
					}
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func TestExportedNames(t *testing.T) {
	const code = `package p
const ( A Kind = 1; B; c )
const ( D = 1; E = 2 )
var F, g = 1, 2
type H struct{}
type i struct{}
func J() {}
func (H) K() {}
func (*H) L() {}
func (H) m() {}
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := exportedNames(f)
	want := []string{"F", "H", "H.K", "H.L", "J", "constants at 38", "constants of Kind"}
	if !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}
