package preview

import (
	"html"
	"strings"
	"testing"
)

// TestWords marks the words that differ, in lines that have much in common.
func TestWords(t *testing.T) {
	for _, tt := range []struct{ name, diff, want string }{
		{"inserted", "-func send(f File) error {\n+func send(ctx Context, f File) error {\n",
			"-func send(f File) error {|+func send([ctx Context, ]f File) error {"},
		{"replaced", "-retry 3 times\n+retry 30 times\n", "-retry [3] times|+retry [30] times"},
		{"a part of a word", "-the retries end\n+the retried end\n", "-the [retries] end|+the [retried] end"},
		{"letters of several bytes", "-größer als zwölf\n+größer als zwälf\n", "-größer als [zwölf]|+größer als [zwälf]"},
		{"little in common", "-return c.do(ctx, req)\n+return retry(3, func() error {\n",
			"-return c.do(ctx, req)|+return retry(3, func() error {"},
		{"pairs", "-a = one\n-b = two\n+a = uno\n+b = due\n+c = tre\n",
			"-a = [one]|-b = [two]|+a = [uno]|+b = [due]|+c = tre"},
		{"repeated", "-a a\n+a a a\n", "-a a|+a a[ a]"},
		{"only added", "+a\n+b\n", "+a|+b"},
		{"equal but for the end", "-a b\n+a b \n", "-a b|+a b[ ]"},
		{"markup", "-the <b>old</b> one\n+the <b>new</b> one\n", "-the <b>[old]</b> one|+the <b>[new]</b> one"},
		{"an empty line", "-\n+x\n", "-|+[x]"},
	} {
		var got []string
		for _, l := range linesOfDiff([]byte(tt.diff), true) {
			checkSafe(t, string(l.HTML()))
			got = append(got, html.UnescapeString(strings.NewReplacer("<mark>", "[", "</mark>", "]").Replace(string(l.HTML()))))
		}
		if text := strings.Join(got, "|"); text != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, text, tt.want)
		}
	}
}
