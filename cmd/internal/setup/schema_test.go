package setup

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestPluginSchemas checks the files of the plugin, and server.json, against the
// published schemas that they name, as far as HANDOFF_SCHEMAS has them: the path
// of a directory with the schemas in files of any name that ends in .json.
func TestPluginSchemas(t *testing.T) {
	dir := os.Getenv("HANDOFF_SCHEMAS")
	if dir == "" {
		t.Skip("HANDOFF_SCHEMAS is not set: the plugin is not checked against published schemas")
	}
	known := publishedSchemas(t, dir)
	checked := 0
	for name := range pluginFiles() {
		text, err := os.ReadFile(filepath.Join(pluginsRoot, name))
		if err != nil {
			t.Fatal(err)
		}
		var head struct {
			Schema string `json:"$schema"`
		}
		if json.Unmarshal(text, &head) != nil || known[head.Schema] == nil {
			continue
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := known[head.Schema].Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checked++
		if err := known[head.Schema].Validate(map[string]any{"name": "Two Words"}); err == nil {
			t.Errorf("%s accepts everything", head.Schema)
		}
	}
	if checked == 0 {
		t.Errorf("%s has none of the schemas that the files name", dir)
	}
	t.Logf("%d files are valid", checked)
}

// publishedSchemas compiles the schemas in a directory, by their ID.
func publishedSchemas(t *testing.T, dir string) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*jsonschema.Schema{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		id, _ := doc.(map[string]any)["$id"].(string)
		c := jsonschema.NewCompiler()
		c.UseRegexpEngine(compilePattern)
		if err := c.AddResource(id, doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if known[id], err = c.Compile(id); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return known
}

// A pattern is a regular expression that may start with a negative lookahead,
// which package regexp does not have.
type pattern struct {
	text      string
	not, then *regexp.Regexp
}

func (p pattern) String() string { return p.text }

func (p pattern) MatchString(s string) bool {
	return p.then.MatchString(s) && (p.not == nil || !p.not.MatchString(s))
}

func compilePattern(text string) (jsonschema.Regexp, error) {
	p, rest := pattern{text: text}, text
	if after, ok := strings.CutPrefix(text, "^(?!"); ok {
		depth, end := 1, 0
		for ; depth > 0 && end < len(after); end++ {
			switch after[end] {
			case '(':
				depth++
			case ')':
				depth--
			}
		}
		not, err := regexp.Compile("^(?:" + after[:end-1] + ")")
		if err != nil {
			return nil, err
		}
		p.not, rest = not, "^"+after[end:]
	}
	then, err := regexp.Compile(rest)
	p.then = then
	return p, err
}
