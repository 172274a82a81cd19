package guard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// internalImports returns the names under which a file refers to packages
// inside internal.
func internalImports(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, spec := range f.Imports {
		p := strings.Trim(spec.Path.Value, `"`)
		if !strings.Contains(p, "/internal/") {
			continue
		}
		name := path.Base(p)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = true
	}
	return names
}

// isConstructor reports whether a function is the constructor of a subject: only this module can call
// it, with an open workspace as its first parameter.
func isConstructor(d *ast.FuncDecl) bool {
	if d.Recv != nil || d.Name.Name != "New" || len(d.Type.Params.List) == 0 {
		return false
	}
	star, ok := d.Type.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "core" && sel.Sel.Name == "Core"
}

// exposed returns the internal types that the exported declarations of a file
// mention, aliases included: go doc shows no fields of these.
func exposed(f *ast.File) (found []string) {
	internal := internalImports(f)
	mentions := func(owner string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && internal[x.Name] {
					found = append(found, owner+": "+x.Name+"."+sel.Sel.Name)
				}
			}
			return true
		})
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			method := d.Recv != nil
			if d.Name.IsExported() && (!method || ast.IsExported(typeName(d.Recv.List[0].Type))) && !isConstructor(d) {
				mentions(d.Name.Name, d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if spec.Names[0].IsExported() && spec.Type != nil {
						mentions(spec.Names[0].Name, spec.Type)
					}
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						eachExportedType(spec.Type, func(x ast.Expr) { mentions(spec.Name.Name, x) })
					}
				}
			}
		}
	}
	return found
}

// eachExportedType calls do with the parts of a type that a user of it sees.
func eachExportedType(x ast.Expr, do func(ast.Expr)) {
	s, ok := x.(*ast.StructType)
	if !ok {
		do(x)
		return
	}
	for _, field := range s.Fields.List {
		embedded := len(field.Names) == 0 && ast.IsExported(typeName(field.Type))
		if embedded || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			do(field.Type)
		}
	}
}

// promoted returns the exported members that exported structs of a package have
// only because they embed an unexported struct. go doc does not show them.
func promoted(files []*ast.File) (found []string) {
	structs, members := map[string]*ast.StructType{}, map[string][]string{}
	for _, f := range files {
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.IsExported() {
					owner := typeName(d.Recv.List[0].Type)
					members[owner] = append(members[owner], d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if spec, ok := spec.(*ast.TypeSpec); ok {
						structs[spec.Name.Name], _ = spec.Type.(*ast.StructType)
					}
				}
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(structs)) {
		s := structs[owner]
		if s == nil {
			continue
		}
		for _, field := range s.Fields.List {
			names := field.Names
			if len(names) == 0 {
				names = []*ast.Ident{ast.NewIdent(typeName(field.Type))}
			}
			for _, name := range names {
				if name.IsExported() {
					members[owner] = append(members[owner], name.Name)
				}
			}
		}
	}
	for _, owner := range slices.Sorted(maps.Keys(structs)) {
		s := structs[owner]
		if s == nil || !ast.IsExported(owner) {
			continue
		}
		for _, field := range s.Fields.List {
			embedded := typeName(field.Type)
			if len(field.Names) > 0 || ast.IsExported(embedded) || structs[embedded] == nil {
				continue
			}
			for _, name := range members[embedded] {
				found = append(found, owner+": "+embedded+"."+name)
			}
		}
	}
	return found
}

// TestPublicAPI checks that the API of a public package mentions no type of an
// internal one, because its users could not name it, and that no exported struct
// has exported members of an unexported one that it embeds.
func TestPublicAPI(t *testing.T) {
	packages := map[string][]*ast.File{}
	for _, s := range sources(t) {
		public := !strings.HasPrefix(s.pkg+"/", "internal/") && !strings.Contains(s.pkg+"/", "/internal/") &&
			!strings.HasPrefix(s.pkg, "cmd/") && s.pkg != "bench"
		if !public || strings.HasSuffix(s.name, "_test.go") {
			continue
		}
		packages[s.pkg] = append(packages[s.pkg], s.file)
		for _, found := range exposed(s.file) {
			t.Errorf("%s: %s is an internal type", s.name, found)
		}
	}
	for name, files := range packages {
		for _, found := range promoted(files) {
			t.Errorf("package %s: %s is promoted to the API", name, found)
		}
	}
}

func TestPromoted(t *testing.T) {
	const code = `package p
import "m/c"
type Struct struct { *core; hidden; c.Fine; field core }
type core struct { Field, other int; *c.Embedded; deep }
type hidden struct { field int }
type deep struct { field int }
type unexported struct { core }
func (*core) Method() {}
func (*core) method() {}
func (Struct) Method2() {}
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := promoted([]*ast.File{f})
	want := []string{"Struct: core.Method", "Struct: core.Field", "Struct: core.Embedded"}
	if !slices.Equal(got, want) {
		t.Errorf("promoted = %q, want %q", got, want)
	}
}

func TestExposed(t *testing.T) {
	const code = `package p
import ("m/internal/a"; b "m/internal/x"; "m/internal/core"; "m/c")
type Alias = a.T
type Struct struct { a.Embedded; Field *b.T; hidden a.T; Fine c.T }
type hidden struct { Field a.T }
func Func(x []a.T) (c.T, b.T)
func (Struct) Method(map[string]a.T)
func (Struct) method(a.T)
func (hidden) Method(a.T)
func Body() { var _ a.T }
var Var a.T
var ok = a.New()
func New(_ *core.Core, _ a.T) Struct
func NewOther(*core.Core) Struct
`
	f, err := parser.ParseFile(token.NewFileSet(), "p.go", code, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := exposed(f)
	want := []string{"Alias: a.T", "Struct: a.Embedded", "Struct: b.T", "Func: a.T", "Func: b.T", "Method: a.T",
		"Var: a.T", "NewOther: core.Core"}
	if !slices.Equal(got, want) {
		t.Errorf("exposed = %q, want %q", got, want)
	}
}
