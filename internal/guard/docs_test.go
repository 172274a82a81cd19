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

var codeSpan = regexp.MustCompile("`([^`]+)`")

// documents returns the names of the Markdown files for users and developers.
func documents(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"llms.txt", "*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, found...)
	}
	return list
}

// TestDocumentLanguage rejects the phrases of dialect in documents.
func TestDocumentLanguage(t *testing.T) {
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := phrase(codeSpan.ReplaceAllString(line, "")); found != "" {
				t.Errorf("%s:%d: has the phrase %q", name, i+1, found)
			}
		}
	}
}

// link matches a link to a file of this repository.
var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestDocumentLinks checks that the files which documents link to exist.
func TestDocumentLinks(t *testing.T) {
	links := 0
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllStringSubmatch(string(text), -1) {
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, found[1])
			}
		}
	}
	if links < 30 {
		t.Errorf("found %d links, want at least 30", links)
	}
}

var testName = regexp.MustCompile("`((Test|Fuzz)[A-Z][A-Za-z]*)`")

// TestDocumentTests checks that the tests which documents name exist.
func TestDocumentTests(t *testing.T) {
	exists := map[string]bool{}
	for _, s := range sources(t) {
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && s.isTest() {
				exists[f.Name.Name] = true
			}
		}
	}
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testName.FindAllStringSubmatch(string(text), -1) {
			if !exists[found[1]] {
				t.Errorf("%s names the test %s, which does not exist", name, found[1])
			}
		}
	}
}

var goFile = regexp.MustCompile("`([a-z][a-z/_]*/[a-z_]+\\.go)`")

// TestDocumentFiles checks that the Go files which documents name exist.
func TestDocumentFiles(t *testing.T) {
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range goFile.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(found[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", name, found[1])
			}
		}
	}
}

// TestIndexForModels checks that llms.txt links to each page of docs.
func TestIndexForModels(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documents(t) {
		page, inDocs := strings.CutPrefix(filepath.ToSlash(name), root+"/docs/")
		if inDocs && !strings.Contains(page, "/") && !strings.Contains(string(index), "(docs/"+page+")") {
			t.Errorf("llms.txt does not link to docs/%s", page)
		}
	}
}

var (
	variableName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)
	capitals     = regexp.MustCompile(`[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+`)
	// composed are the variables whose names the program composes, of one of thread's packages
	// and of a variable of a workflow.
	composed = regexp.MustCompile(`^HANDOFF_([A-Z]+)_BIN$|^HANDOFF_VAR_[A-Z_]+$`)
)

// notVariables are the packages whose words in capitals are not variables for users: those of
// git, types of records, and examples of secrets.
var notVariables = []string{"internal/tool/git", "engines/gitlog", "thread/antigravity", "cmd/internal/setup",
	"internal/tool/secret/corpus", "release"}

// TestDocumentVariables checks that documents, docs/commands.md among them, name each variable
// of the environment that a program reads or sets, and that each one that they name exists.
func TestDocumentVariables(t *testing.T) {
	named := map[string]string{}
	for _, name := range documents(t) {
		if strings.Contains(name, "/adr/") || filepath.Base(name) == "CHANGELOG.md" {
			continue // they name what is gone, too
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range capitals.FindAllString(string(text), -1) {
			named[word] = name
		}
	}
	exists := map[string]bool{"O_TMPFILE": true} // a flag of open(2)
	for _, s := range withNested(t) {
		for _, text := range stringsOf(s.file) {
			for _, word := range capitals.FindAllString(text, -1) {
				exists[word] = true
			}
			variable := !s.isTest() && !slices.Contains(notVariables, s.pkg) && variableName.MatchString(text)
			if variable && named[text] == "" {
				t.Errorf("%s has the variable %s, which no document names", s.name, text)
			}
		}
	}
	for word, name := range named {
		made := composed.FindStringSubmatch(word)
		if made != nil && made[1] != "" {
			_, err := os.Stat(filepath.Join(root, "thread", strings.ToLower(made[1])))
			exists[word] = err == nil
		} else if made != nil {
			exists[word] = true
		}
		if !exists[word] {
			t.Errorf("%s names %s, which no program reads", name, word)
		}
	}
	if len(named) < 50 {
		t.Errorf("documents name %d variables, which can't be all", len(named))
	}
}

// stringsOf returns the strings in a file.
func stringsOf(f *ast.File) (list []string) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				list = append(list, text)
			}
		}
		return true
	})
	return list
}
