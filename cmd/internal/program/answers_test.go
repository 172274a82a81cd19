package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff/cmd/internal/cli"
	"github.com/agent-handoff/handoff/jsonschema"
	"github.com/spf13/cobra"
)

// answersVariable names the directory in which programs record what they print.
const answersVariable = "HANDOFF_TEST_ANSWERS"

// recordedMain is Main. With answersVariable, it records the arguments and the output
// in a new file.
func recordedMain() int {
	dir := os.Getenv(answersVariable)
	if dir == "" || mayPrintJSON(os.Args[1:]) == nil {
		return Main()
	}
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cli.ExitBug
	}
	cwd, _ := os.Getwd()
	head, _ := json.Marshal(append([]string{cwd}, os.Args[1:]...))
	fmt.Fprintf(f, "%s\n", head)
	return mainTo(tee{os.Stdout, f}, nil)
}

// A tee writes to two files what the first accepts.
type tee struct{ out, record *os.File }

func (t tee) Write(p []byte) (int, error) {
	n, err := t.out.Write(p)
	t.record.Write(p[:n])
	return n, err
}

// newerRecords is the directory of a script whose records have unknown fields.
const newerRecords = "script-show_newer_version"

// recordAnswers returns a directory for the answers of the processes of scripts, which are
// validated at the end of the test.
func recordAnswers(t *testing.T) string {
	dir := t.TempDir()
	t.Cleanup(func() {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(filepath.Join(dir, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			head, out, _ := bytes.Cut(b, []byte("\n"))
			var args []string
			if err := json.Unmarshal(head, &args); err != nil {
				t.Fatal(err)
			}
			if filepath.Base(args[0]) == newerRecords {
				continue
			}
			if err := allAnswers().check(args[1:], string(out)); err != nil {
				t.Errorf("in %s, handoff %s: %v\n%s", args[0], strings.Join(args[1:], " "), err, out)
			}
		}
	})
	return dir
}

// answers are the schemas of what commands print with --json. Objects are closed: a
// member that no Go type has is a defect.
type answers struct {
	doc      map[string]any
	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

// allAnswers returns the schemas that the program prints.
var allAnswers = sync.OnceValue(func() *answers {
	s := &answers{doc: printedSchema("all"), compiled: map[string]*jsonschema.Schema{}}
	eachObject(s.doc, func(o map[string]any) {
		if o["properties"] != nil && o["additionalProperties"] == nil {
			o["additionalProperties"] = false
		}
	})
	return s
})

// printedSchema returns the schema of a command as the program prints it.
func printedSchema(command string) map[string]any {
	var out bytes.Buffer
	a := &cli.App{Out: &out, Err: &out}
	args := append([]string{"help", "--format", "schema"}, strings.Fields(command)...)
	if code := a.Run(context.Background(), commands, args); code != 0 {
		panic(out.String())
	}
	return decoded(out.Bytes()).(map[string]any)
}

// eachObject calls do with every schema of a document that has a type or properties.
func eachObject(v any, do func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		if _, typed := v["type"].(string); typed {
			do(v)
		}
		for _, x := range v {
			eachObject(x, do)
		}
	case []any:
		for _, x := range v {
			eachObject(x, do)
		}
	}
}

// schema returns the compiled schema at a name of $defs. With selected, any member can be
// missing.
func (s *answers) schema(name string, selected bool) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprint(name, selected)
	if known := s.compiled[key]; known != nil {
		return known, nil
	}
	var defs any = referred(s.doc["$defs"].(map[string]any), name)
	if selected {
		b, err := json.Marshal(defs)
		if err != nil {
			return nil, err
		}
		defs = decoded(b)
		eachObject(defs, func(o map[string]any) { delete(o, "required") })
	}
	compiled, err := jsonschema.Compile("test:///answers", map[string]any{"$ref": "#/$defs/" + name, "$defs": defs}, nil)
	s.compiled[key] = compiled
	return compiled, err
}

// referred returns a schema of $defs and those that it refers to. All of them, compiled
// for each name, would make the heap large.
func referred(defs map[string]any, name string) map[string]any {
	found := map[string]any{}
	var add func(v any)
	add = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, x := range v {
				ref, isRef := x.(string)
				name := strings.TrimPrefix(ref, "#/$defs/")
				if _, known := found[name]; key == "$ref" && isRef && !known {
					found[name] = defs[name]
					add(defs[name])
				}
				add(x)
			}
		case []any:
			for _, x := range v {
				add(x)
			}
		}
	}
	add(map[string]any{"$ref": "#/$defs/" + name})
	return found
}

// decoded returns a value of JSON that the program printed.
func decoded(b []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

// objects validates all objects of an output against a schema in $defs, or against that
// of an error, and returns their number.
func (s *answers) objects(name, out string) (n int, err error) {
	return s.validate([]string{name, "ErrorAnswer"}, false, out)
}

// validate is objects for a choice of schemas.
func (s *answers) validate(names []string, selected bool, out string) (n int, err error) {
	dec := json.NewDecoder(strings.NewReader(out))
	dec.UseNumber()
	for {
		var v any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
		n++
		var problems []string
		for _, name := range names {
			compiled, err := s.schema(name, selected)
			if err != nil {
				return n, err
			}
			found := compiled.Check(v)
			if len(found) == 0 {
				problems = nil
				break
			}
			problems = append(problems, fmt.Sprintf("%s: %v", name, found))
		}
		if problems != nil {
			return n, fmt.Errorf("the answer has none of the forms:\n%s", strings.Join(problems, "\n"))
		}
	}
}

// check validates the output of a command line, if it is JSON.
func (s *answers) check(args []string, out string) error {
	c := mayPrintJSON(args)
	if c == nil || strings.TrimSpace(out) == "" {
		return nil
	}
	doc := s.doc
	if c.Hidden { // a former name
		doc = printedSchema(commandName(c))
	}
	forms, _ := doc["x-commands"].(map[string]any)[commandName(c)].([]any)
	byFlag := map[string][]string{}
	for _, form := range forms {
		form := form.(map[string]any)
		flag, _ := form["x-flag"].(string)
		ref, isRef := form["$ref"].(string)
		if !isRef {
			return nil // a form that handoff does not define
		}
		byFlag[flag] = append(byFlag[flag], strings.TrimPrefix(ref, "#/$defs/"))
	}
	names := byFlag[""]
	for flag := range maps.Keys(byFlag) {
		if flag != "" && c.Flags().Changed(flag) {
			names = byFlag[flag]
		}
	}
	_, err := s.validate(append(slices.Clone(names), "ErrorAnswer"), c.Flags().Changed("fields"), out)
	return err
}

// mayPrintJSON returns the command that a command line calls, with its flags, if it
// prints JSON, otherwise nil.
func mayPrintJSON(args []string) *cobra.Command {
	words := strings.Join(args, " ")
	if !strings.Contains(words, "json") && !strings.Contains(words, "facts") && !strings.Contains(words, "open") {
		return nil
	}
	root := &cobra.Command{Use: "handoff"}
	root.PersistentFlags().String("workspace", "", "")
	for _, command := range commands {
		if slices.ContainsFunc(command.Names, func(name string) bool { return slices.Contains(args, name) }) {
			root.AddCommand(command.New(&cli.App{}))
		}
	}
	c, rest, err := root.Find(args)
	if err != nil || c == root || slices.Contains(args, "--help") {
		return nil
	}
	c.FParseErrWhitelist.UnknownFlags = true
	_ = c.ParseFlags(rest)
	given := func(name, value string) bool {
		f := c.Flag(name)
		return f != nil && f.Changed && f.Value.String() == value
	}
	always := commandName(c) == "session open" && !given("env", "true") || given("facts", "true")
	if always || given("json", "true") || given("format", "json") {
		return c
	}
	return nil
}

// commandName returns the words that call a command.
func commandName(c *cobra.Command) string {
	return strings.TrimPrefix(c.CommandPath(), "handoff ")
}

// objectName returns the name of the schema of an object of docs/json.md.
func objectName(object string) string {
	words := strings.Split(object, "-")
	for i, word := range words {
		words[i] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// TestSchemas checks that the objects of docs/json.md and their fields are those of the
// schemas, and that times, and only times, have names that end in At.
func TestSchemas(t *testing.T) {
	docs := readContract(t)
	defs := allAnswers().doc["$defs"].(map[string]any)
	objects := map[string]string{}
	for object := range docs {
		objects[objectName(object)] = object
		if defs[objectName(object)] == nil {
			t.Errorf("docs/json.md has %q, but no schema is named %s", object, objectName(object))
		}
	}
	for name, def := range defs {
		def := def.(map[string]any)
		properties, _ := def["properties"].(map[string]any)
		if typed, _ := properties["type"].(map[string]any); typed["const"] != nil || typed["not"] != nil {
			continue // a fact: docs/format.md
		}
		fields, ok := docs[objects[name]]
		if !ok {
			t.Errorf("docs/json.md has no object for the schema %s", name)
			continue
		}
		if properties == nil { // one of several
			continue
		}
		required, _ := def["required"].([]any)
		for field, got := range properties {
			f, ok := fields[field]
			optional := !slices.Contains(required, any(field))
			if want := describeSchema(got); !ok || f.optional != optional || f.kind != want && want != "any" {
				t.Errorf("docs/json.md documents %s.%s as %q (optional: %t); its type is %q (optional: %t)", objects[name],
					field, f.kind, f.optional, want, optional)
			}
			isTime := strings.HasPrefix(f.kind, "time")
			if isTime != strings.HasSuffix(field, "At") && !slices.Contains(otherTimes, field) {
				t.Errorf("%s.%s is %q; times, and only times, have names that end in At", objects[name], field, f.kind)
			}
		}
		for field := range fields {
			if properties[field] == nil {
				t.Errorf("docs/json.md has %s.%s, which the schema %s does not have", objects[name], field, name)
			}
		}
	}
}

// otherTimes are times whose names are older than the rule or those of other tools, and a
// time that is text of the build.
var otherTimes = []string{"lastHook", "lastCall", "lastFailure", "started_at", "committedAt"}

// TestHelpForms validates the help that programs read.
func TestHelpForms(t *testing.T) {
	c := newConsole(t)
	for _, line := range []string{"help --format json", "help --format json all", "help --format json session"} {
		if n, err := allAnswers().objects("Help", c.ok(strings.Fields(line)...)); n != 1 || err != nil {
			t.Errorf("handoff %s: %d objects, %v", line, n, err)
		}
	}
	var one struct{ Commands []struct{ Name string } }
	if err := json.Unmarshal([]byte(c.ok("help", "--format", "json", "session", "open")), &one); err != nil ||
		len(one.Commands) != 1 || one.Commands[0].Name != "session open" {
		t.Errorf("help --format json session open has the commands %v, %v", one.Commands, err)
	}
	if _, code := c.run("", "help", "--format", "xyzzy"); code != 2 {
		t.Errorf("help --format xyzzy exits %d, want 2", code)
	}
}

// describeSchema returns a schema as docs/json.md words it.
func describeSchema(v any) string {
	s, _ := v.(map[string]any)
	ref, _ := s["$ref"].(string)
	kind, _ := s["type"].(string)
	switch {
	case ref != "":
		name := strings.TrimPrefix(ref, "#/$defs/")
		var b strings.Builder
		for i, r := range name {
			if i > 0 && r >= 'A' && r <= 'Z' {
				b.WriteByte('-')
			}
			b.WriteRune(r)
		}
		return "#" + strings.ToLower(b.String())
	case s["anyOf"] != nil:
		return describeSchema(s["anyOf"].([]any)[0]) + " or null"
	case s["format"] == "date-time":
		return "time"
	case kind == "array":
		return "list of " + describeSchema(s["items"])
	case kind == "object":
		return "map of " + describeSchema(s["additionalProperties"])
	case kind == "":
		return "any"
	}
	return kind
}
