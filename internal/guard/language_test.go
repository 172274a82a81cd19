package guard

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// dialect matches phrases that a reader would have to translate: texts use the
// standard terms of the field instead.
var dialect = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(is|are|was) no (a\b|[b-km-z]|l[^o]|lo[^n])`), // not a, invalid; "is no longer" is English
	regexp.MustCompile(`(?i)\b(tell|tells|told|lies|lay|begun|began|mend|mends|mended|anew|whoever|nobody|meanwhile)\b`),
	regexp.MustCompile(`(?i)\b(stands?|stood)\b`),
	regexp.MustCompile(`(?i)\bwhole\b`),
	regexp.MustCompile(`(?i) conversations?\b|\bconversations? `), // thread; alone, it is a name in a format
	regexp.MustCompile(`(?i)\bagent tools?\b`),                    // program
	regexp.MustCompile(`(?i)\bwords are wrong\b|\bbegin so\b|\bnothing here\b|\bwhat (became|came) of\b|\bon the way\b`),
	regexp.MustCompile(`(?i)\bsay(s)? (so|which|that|it|otherwise|when|how|whether|who|what)\b`),
	regexp.MustCompile(
		`(?i)\bh(o|e)lds? (\w+ ){0,3}against\b|\bhand(s|ed|ing)? (it |them )?in\b|\bmade again\b|\b(put|puts|kept) aside\b`),
	regexp.MustCompile(`(?i)\bbelow (the|its|a|an|your) ([\w'-]+ )?(workspace|folder|directory|root)\b`),
}

// legacyTexts reproduce the output of other programs, or quote it.
var legacyTexts = []string{}

// databaseText is the beginning of a statement in SQL.
var databaseText = regexp.MustCompile(`^(CREATE|INSERT|SELECT|UPDATE|DELETE|DROP) `)

// A text is a string literal.
type text struct {
	source
	lit   *ast.BasicLit
	value string
}

func (x text) position() string { return x.fset.Position(x.lit.Pos()).String() }

// texts returns the string literals of code that is not a test, but for import
// paths and the tags of fields.
func texts(t *testing.T) []text {
	t.Helper()
	var list []text
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		skipped := map[*ast.BasicLit]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				skipped[n.Path] = true
			case *ast.Field:
				skipped[n.Tag] = true
			case *ast.BasicLit:
				if n.Kind != token.STRING || skipped[n] {
					return true
				}
				value, err := strconv.Unquote(n.Value)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, text{s, n, value})
			}
			return true
		})
	}
	if len(list) < 500 {
		t.Fatalf("found %d texts, which can't be all", len(list))
	}
	return list
}

// absence is the one use of "is no" that is English.
var absence = regexp.MustCompile(`(?i)\bthere (is|are|was) no\b`)

// phrase returns the first phrase of a dialect in a text.
func phrase(text string) string {
	if databaseText.MatchString(text) {
		return ""
	}
	text = absence.ReplaceAllString(text, "")
	for _, pattern := range dialect {
		if found := pattern.FindString(text); found != "" {
			return found
		}
	}
	return ""
}

// TestLanguage rejects the phrases of dialect in every text.
func TestLanguage(t *testing.T) {
	for _, x := range texts(t) {
		if slices.Contains(legacyTexts, x.value) {
			continue
		}
		if found := phrase(x.value); found != "" {
			t.Errorf("%s: %q has the phrase %q", x.position(), x.value, found)
		}
	}
}

func TestPhrase(t *testing.T) {
	for _, bad := range []string{
		"is no time", "is no revision", "3 lines are no records", "the words are wrong", "several artifacts begin so",
		"handoff check tells what is missing",
		"Say that an artifact no longer stands", "where it lies", "begun by", "mend the manifest",
		"look whether every record is whole", "hold artifacts against their contracts",
		"held against its schema", "hand in a stage's artifact", "the agent that hands it in", "will be made again",
		"what became of it", "write the file below the workspace",
		"below the session's folder", "say which", "it says so already",
	} {
		if phrase(bad) == "" {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{
		"is no longer active", "there are no other operators", "has no type", "invalid time", "not a directory",
		"the largest integer below 2^53", "standard input", "understands", "Show help for a command",
		"wholesale", "layout", "SELECT told FROM place", "outstanding", "retell", "beginning",
	} {
		if found := phrase(good); found != "" {
			t.Errorf("%q is rejected for %q", good, found)
		}
	}
}

// commandText matches a command line of handoff, or one of its flags within a
// sentence. A flag alone is an argument of another program.
var commandText = regexp.MustCompile(`\bhandoff [a-z]+ ([A-Z./-]|[a-z]+ |$)|[\s"'(]--[a-z]{2}|^--[a-z-]{2,} `)

// foreignCommand matches a command line of another program, and the first line of
// a diff of git.
var foreignCommand = regexp.MustCompile(`\b(git|python) [a-z.]+ --|^diff --git `)

// commandPackages may spell command lines: they parse or run them.
var commandPackages = []string{"cmd/handoff", "cmd/internal", "cmd/internal/demo", "bench"}

// TestNoCommandLines checks that the packages which the command line is built on
// do not know its grammar: their hints name an action instead.
func TestNoCommandLines(t *testing.T) {
	for _, x := range texts(t) {
		if slices.ContainsFunc(commandPackages,
			func(p string) bool { return x.pkg == p || strings.HasPrefix(x.pkg, p+"/") }) {
			continue
		}
		if found := commandText.FindString(x.value); found != "" && !foreignCommand.MatchString(x.value) {
			t.Errorf("%s: %q spells a command line: %q", x.position(), x.value, strings.TrimSpace(found))
		}
	}
}

func TestCommandText(t *testing.T) {
	for _, bad := range []string{"handoff check --repair", "handoff list shows them", "handoff pipeline next ",
		"pass --workspace", "--list is always markdown", " --to PATH"} {
		if !commandText.MatchString(bad) {
			t.Errorf("%q is accepted", bad)
		}
	}
	for _, good := range []string{"--show-prefix", "set HANDOFF_WORKSPACE", "handoff data", "handoff, ",
		"docs/handoff.md", "a -- b"} {
		if found := commandText.FindString(good); found != "" {
			t.Errorf("%q is rejected for %q", good, found)
		}
	}
}
