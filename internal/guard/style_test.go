package guard

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "lower the counts of folders-to-do.txt")

// toDo is the file of folders that break the rules of style, with how often each does.
const toDo = "folders-to-do.txt"

// The rules of style, for code and for these tests. docs/adr/0017 has the reasons.
const (
	maxValues    = 2 // of an assignment
	maxFunctions = 2 // fields of a struct
	tabColumns   = 4
)

// TestStyle checks the rules of style. A folder of folders-to-do.txt breaks them exactly
// as often as the file says: no new case can be added, and a count falls when a case is gone.
func TestStyle(t *testing.T) {
	found := map[string][]string{}
	list := withNested(t)
	rows := rowTypes(list)
	for _, s := range list {
		if s.hasStyle() {
			found[s.pkg] = append(found[s.pkg], styleOf(s, rows)...)
		}
	}
	allowed := readToDo(t)
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		got, most := len(found[pkg]), allowed[pkg]
		switch {
		case got > most && most == 0:
			t.Errorf("package %s:\n%s", pkg, strings.Join(found[pkg], "\n"))
		case got > most:
			t.Errorf("package %s breaks the rules of style %d times, and may %d times:\n%s", pkg, got, most,
				strings.Join(found[pkg], "\n"))
		}
	}
	if *update {
		lowerToDo(t, allowed, found)
		return
	}
	for _, pkg := range slices.Sorted(maps.Keys(allowed)) {
		switch got := len(found[pkg]); {
		case got == 0:
			t.Errorf("%s: remove %s, which breaks no rule (-update does)", toDo, pkg)
		case got < allowed[pkg]:
			t.Errorf("%s: lower %s from %d to %d (-update does)", toDo, pkg, allowed[pkg], got)
		}
	}
}

// readToDo returns how often a folder may break the rules.
func readToDo(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile(toDo)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		pkg, count, isRow := strings.Cut(strings.TrimSpace(line), " ")
		if !isRow || pkg == "#" {
			continue
		}
		n, err := strconv.Atoi(count)
		if err != nil || n <= 0 {
			t.Fatalf("%s: invalid line %q", toDo, line)
		}
		allowed[pkg] = n
	}
	return allowed
}

// lowerToDo writes the counts that have fallen. It raises none and adds no folder.
func lowerToDo(t *testing.T, allowed map[string]int, found map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(toDo)
	if err != nil {
		t.Fatal(err)
	}
	head := text[:bytes.LastIndex(text, []byte("#\n"))+2]
	for _, pkg := range slices.Sorted(maps.Keys(allowed)) {
		if n := min(allowed[pkg], len(found[pkg])); n > 0 {
			head = fmt.Appendf(head, "%s %d\n", pkg, n)
		}
	}
	if err := os.WriteFile(toDo, head, 0o666); err != nil {
		t.Fatal(err)
	}
}

// hasStyle reports whether the rules of style are for a file. Of tests, they are for these.
func (s source) hasStyle() bool {
	return (!strings.HasSuffix(s.name, "_test.go") || s.pkg == "internal/guard") && !ast.IsGenerated(s.file)
}

// styleOf returns where a file breaks a rule of style. rows are types of tables.
func styleOf(s source, rows map[string]bool) (found []string) {
	add := func(at token.Pos, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s:%d: %s", s.name, s.fset.Position(at).Line, fmt.Sprintf(format, args...)))
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if owner := disguised(n); owner != "" {
				add(n.Pos(), "%s is a method of %s", n.Name.Name, owner)
			}
		case *ast.AssignStmt:
			if len(n.Rhs) > maxValues && len(n.Lhs) == len(n.Rhs) {
				add(n.Pos(), "%d values are assigned at once", len(n.Rhs))
			}
		case *ast.ValueSpec:
			if len(n.Values) > maxValues && len(n.Names) == len(n.Values) {
				add(n.Pos(), "%d values are assigned at once", len(n.Values))
			}
		case *ast.BinaryExpr:
			if n.Op == token.LOR && (isAnd(n.X) || isAnd(n.Y)) {
				add(n.Pos(), "&& beside || without parentheses")
			}
		case *ast.TypeSpec:
			if rows[s.qualified(n.Name)] || slices.Contains(testOnly, s.pkg) {
				return true
			}
			if got := operations(n.Type); got > maxFunctions {
				add(n.Pos(), "struct %s has %d functions that do work for it", n.Name.Name, got)
			}
		}
		return true
	})
	for _, line := range wideLines(s, tabColumns) {
		found = append(found, fmt.Sprintf("%s:%d: wider than %d columns", s.name, line, maxColumns))
	}
	return found
}

func isAnd(x ast.Expr) bool {
	b, ok := x.(*ast.BinaryExpr)
	return ok && b.Op == token.LAND
}

// disguised returns the exported type of the file's package to which the first parameter of
// an exported function points, besides a context: the function is a method of it. A
// constructor, whose name begins with New, is none, and neither is a comparison of two values,
// whose name begins with Compare: package slices calls it.
func disguised(d *ast.FuncDecl) string {
	name := d.Name.Name
	if d.Recv != nil || !d.Name.IsExported() || strings.HasPrefix(name, "New") || strings.HasPrefix(name, "Compare") {
		return ""
	}
	for _, p := range d.Type.Params.List {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
			continue
		}
		pointer, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return ""
		}
		// A type of another package has a selector.
		if _, other := pointer.X.(*ast.SelectorExpr); other || !ast.IsExported(typeName(pointer.X)) {
			return ""
		}
		return typeName(pointer.X)
	}
	return ""
}

// operations counts the fields of a struct type that are functions with a result, and therefore
// can stand for a call of a package that is not imported. A function without a result
// only reports something; the clock and the environment, func() time.Time and
// func(string) string, come from outside.
func operations(x ast.Expr) (n int) {
	t, ok := x.(*ast.StructType)
	if !ok {
		return 0
	}
	for _, field := range t.Fields.List {
		f, ok := field.Type.(*ast.FuncType)
		if !ok || f.Results == nil || isOutside(f) {
			continue
		}
		n += max(1, len(field.Names))
	}
	return n
}

// isOutside reports whether f is the type of the clock or of the environment.
func isOutside(f *ast.FuncType) bool {
	if len(f.Results.List) != 1 {
		return false
	}
	switch result := f.Results.List[0].Type.(type) {
	case *ast.SelectorExpr:
		return fmt.Sprint(result.X, ".", result.Sel) == "time.Time" && len(f.Params.List) == 0
	case *ast.Ident:
		return result.Name == "string" && len(f.Params.List) == 1 && typeName(f.Params.List[0].Type) == "string"
	}
	return false
}

// rowTypes returns the types of which some file has a table: a literal of an array, slice
// or map with them.
func rowTypes(list []source) map[string]bool {
	rows := map[string]bool{}
	for _, s := range list {
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) == 0 {
				return true
			}
			switch t := lit.Type.(type) {
			case *ast.ArrayType:
				rows[s.qualified(t.Elt)] = true
			case *ast.MapType:
				rows[s.qualified(t.Value)] = true
			}
			return true
		})
	}
	return rows
}

// qualified returns the name of a type with that of its package.
func (s source) qualified(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return s.qualified(x.X)
	case *ast.SelectorExpr:
		return fmt.Sprint(x.X, ".", x.Sel)
	case *ast.Ident:
		return s.file.Name.Name + "." + x.Name
	}
	return ""
}

// wideLines returns the numbers of the lines of code that have more than maxColumns. The
// text of raw strings, and in tests of long strings, is not code.
func wideLines(s source, tab int) (list []int) {
	literals := map[int]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		isText := lit.Value[0] == '`' || (s.isTest() && len(lit.Value) > maxColumns/3)
		for line := s.fset.Position(lit.Pos()).Line; line <= s.fset.Position(lit.End()).Line; line++ {
			literals[line] = literals[line] || isText
		}
		return true
	})
	for i, line := range strings.Split(string(s.text), "\n") {
		columns := utf8.RuneCountInString(line) + (tab-1)*strings.Count(line, "\t")
		if columns > maxColumns && !literals[i+1] {
			list = append(list, i+1)
		}
	}
	return list
}

func TestStyleOf(t *testing.T) {
	for _, tt := range []struct {
		code string
		want int
	}{
		{"func F(h *Hub) {}", 1},
		{"func F(ctx context.Context, h *Hub[int], n int) {}", 1},
		{"func NewF(h *Hub) {}", 0},
		{"func CompareF(a, b *Hub) int {}", 0},
		{"func F(n int, h *Hub) {}", 0},
		{"func F(h *handoff.Hub) {}", 0},
		{"func F(h *hub) {}", 0},
		{"func f(h *Hub) {}", 0},
		{"func (h *Hub) F(o *Hub) {}", 0},
		{"func f() { a, b, c = 1, 2, 3 }", 1},
		{"func f() { if a, b, c := x, y, z; a {} }", 1},
		{"const a, b, c = 1, 2, 3", 1},
		{"func f() { a, b = 1, 2; a, b, c = g() }", 0},
		{"var v = a && b || c", 1},
		{"var v = a || b || c && d", 1},
		{"var v = (a && b) || c && (d || e)", 1},
		{"var v = (a && b) || (c && (d || e)) || !(f && g)", 0},
		{"type T struct { A, B func() error; C func(int) int }", 1},
		{"type T struct { A, B func() error; C func(int) }", 0},
		{"type T struct { Now func() time.Time; Getenv func(string) string; A, B func() error }", 0},
		{"type T struct { A, B, C func() error }; var table = []T{{}}", 0},
		{"type T struct { A, B, C func() error }; var table = map[string]*T{\"\": {}}", 0},
		{"type T struct { A, B, C func() error }; var none []T", 1},
		{"// " + strings.Repeat("x", 117), 0},
		{"// " + strings.Repeat("x", 118), 1},
		{"\t// " + strings.Repeat("x", 114), 1},
		{"var v = `" + strings.Repeat("x", 120) + "`", 0},
	} {
		code := "package p\n" + tt.code
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "p.go", code, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := source{"p.go", ".", f, fset, []byte(code)}
		got := styleOf(s, rowTypes([]source{s}))
		if len(got) != tt.want {
			t.Errorf("%s: found %q, want %d", tt.code, got, tt.want)
		}
	}
}
