package contract_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/jsonschema"
	"go.yaml.in/yaml/v4"
)

// ownYAML is a definition with everything that one can say.
const ownYAML = `
folder: work/runs
stages:
  - {id: design, by: architect, writes: docs/design.md, format: {headings: [Goal, Risks]}, gate: {approved: true}}
  - id: build
    by: builder
    needs: [design]
    writes: fix.diff
    gate: {verified: ["go test ./...", [sh, -c, "a b"], {command: [make], dir: api}]}
    retries: 3
    on: {FAIL: design, blocked: human}
  - {id: notes, by: human, writes: "notes/**/*.md", format: any, optional: true, gate: {approved: [human, lead]}}
pipelines:
  nightly:
    stages: [{id: report, by: reporter, writes: report.json, format: {schema: report.schema.json}}]
  team:
    preset: jg
    stages:
      - {id: plan, retries: 5}
      - {id: lint, by: linter, needs: [implement], writes: lint.json, format: {schema: {type: object}}, on: {FAIL: implement}}
`

var ownFiles = fstest.MapFS{"report.schema.json": {Data: []byte(`{"type":"object","required":["verdict"],"properties":{"n":{"minimum":1}}}`)}}

// TestParse checks the model of a definition, and that the definition of each pipeline gives
// the same model again, without files.
func TestParse(t *testing.T) {
	all, err := contract.Parse("handoff.pipeline.yaml", []byte(ownYAML), ownFiles)
	if err != nil {
		t.Fatal(err)
	}
	describe := func(p *contract.Pipeline) string {
		var b strings.Builder
		fmt.Fprintf(&b, "folder %s preset %v\n", p.Folder, p.IsPreset())
		for _, s := range p.Stages {
			fmt.Fprintf(&b, "%s by %s needs %v writes %s retries %d optional %v headings %q approved %v requires %v json %v routes",
				s.Name, s.Writer, s.Needs, s.Artifact, s.Retries, s.Optional,
				s.Format.Headings, s.Gate.Approved, s.Gate.Verified, s.IsJSON())
			for _, r := range s.Routes {
				fmt.Fprintf(&b, " %v:%s%s", r.When, r.To, r.Ask)
			}
			b.WriteString("\n")
		}
		return b.String()
	}
	if got, want := describe(all[""]), `folder work/runs preset false
design by architect needs [] writes docs/design.md retries 2 optional false headings ["Goal" "Risks"] approved [] requires [] json false routes
build by builder needs [design] writes fix.diff retries 3 optional false headings [] approved [] requires [{[go test ./...] } {[sh -c a b] } {[make] api}] json false routes map[outcome:FAIL]:design map[outcome:blocked]:human
notes by human needs [] writes notes/**/*.md retries 2 optional true headings [] approved [human lead] requires [] json false routes
`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	team := all["team"]
	var names []string
	for _, s := range team.Stages {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "plan implement lint test debug review git" || !team.IsPreset() {
		t.Errorf("got %s, want lint after implement", got)
	}
	if s, err := team.Stage("test"); err != nil || !slices.Equal(s.Needs, []string{"lint"}) {
		t.Errorf("test needs %v (%v), want lint", s.Needs, err)
	}
	report, _ := all["nightly"].Stage("report")
	if got := fmt.Sprint(report.Validate([]byte(`{"n":0}`)).Errors); got != "[/n: is 0, less than 1 /verdict: is missing]" {
		t.Errorf("report: got %s", got)
	}
	for name, p := range all {
		again, err := contract.Parse("pipeline.yaml", p.Source(), nil)
		if err != nil {
			t.Errorf("%q: %v\n%s", name, err, p.Source())
			continue
		}
		again[""].Name = p.Name
		if got, want := describe(again[""]), describe(p); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestPresetNeeds checks that what the stages of the built-in pipeline need is what a changed
// one gets.
func TestPresetNeeds(t *testing.T) {
	p, err := changed("stages: [{id: plan, retries: 1}]", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range builtin().Stages {
		if got := p.Stages[i].Needs; !slices.Equal(got, s.Needs) {
			t.Errorf("%s: got %v, want %v", s.Name, got, s.Needs)
		}
	}
}

// TestWrongDefinitions checks that each mistake has its line and column, which ¦ marks, and a
// hint.
func TestWrongDefinitions(t *testing.T) {
	stage := func(more string) string {
		return "stages:\n- {id: a, by: b, writes: a.md" + more + "}"
	}
	two := func(more string) string { return "stages:\n- {id: a, by: b, writes: a.md}\n- " + more }
	for _, tt := range []struct{ yaml, want string }{
		{"¦", "has no stages"},
		{"stages: [\n¦", "invalid YAML"},
		{"stages:\n - a\n ¦b: c", "invalid YAML"},
		{"¦\tstages: []", "invalid YAML"},
		{"stages: 'a¦", "invalid YAML"},
		{"¦--- a\n--- b", "expected single document"},
		{"¦\xff", "invalid YAML"},
		{"¦- a", "must be a mapping, not a list"},
		{"¦7", `must be a mapping, not "7"`},
		{"¦stages: []", "has no stages"},
		{"stages: ¦{}", "must be a list, not a mapping"},
		{"stages: [¦a]", `must be a mapping, not "a"`},
		{"¦stage: []", `unknown key "stage"`},
		{"stages: []\n¦stages: []", `duplicate key "stages"`},
		{"x: ¦&a 1\nstages: *a", "an anchor is not supported"},
		{"¦<<: {stages: []}", `unknown key "<<"`},
		{stage(", x: ¦!exec 'rm'"), "the tag !exec is not supported"},
		{stage(", ¦nedes: [a]"), `unknown key "nedes"`},
		{stage(", ¦if: x"), `unknown key "if"`},
		{stage(", ¦run: x"), `unknown key "run"`},
		{stage(", ¦command: x"), `unknown key "command"`},
		{stage(", ¦matrix: x"), `unknown key "matrix"`},
		{stage(", ¦env: {}"), `unknown key "env"`},
		{stage(", ¦id: c"), `duplicate key "id"`},
		{"stages:\n- ¦{by: b, writes: a.md}", "id"},
		{"stages:\n- {id: ¦Über!, by: b, writes: a.md}", "not a name"},
		{"stages:\n- {id: ¦state, by: b, writes: a.md}", "reserved"},
		{"stages:\n- {id: ¦[a], by: b, writes: a.md}", "id must be a text, not a list"},
		{"stages:\n- {id: ¦'', by: b, writes: a.md}", "is empty"},
		{"stages:\n- ¦{id: a, writes: a.md}", "has no writer (by)"},
		{"stages:\n- {id: a, by: ¦b c, writes: a.md}", "not the name of one agent"},
		{"stages:\n- {id: a, by: ¦, writes: a.md}", "a value is empty"},
		{"stages:\n- ¦{id: a, by: b}", "writes no file"},
		{"stages:\n- {id: a, by: b, writes: ¦/etc/passwd}", "not a path inside"},
		{"stages:\n- {id: a, by: b, writes: ¦../x}", "not a path inside"},
		{"stages:\n- {id: a, by: b, writes: ¦a/../b}", "not a path inside"},
		{"stages:\n- {id: a, by: b, writes: ¦.git/hooks/x}", "in a directory of git"},
		{"stages:\n- {id: a, by: b, writes: ¦'a\\b'}", "has a backslash"},
		{"stages:\n- {id: a, by: b, writes: ¦'a[b'}", "not a valid pattern"},
		{"stages:\n- {id: a, by: b, writes: ¦docs/}", "is a directory"},
		{"stages:\n- {id: a, by: b, writes: ¦pipeline.yaml}", "is reserved"},
		{two("{id: ¦a, by: b, writes: b.md}"), "two stages have the id"},
		{two("{id: c, by: b, writes: ¦a.md}"), "both write a.md"},
		{two("{id: c, by: b, writes: ¦'*.md'}"), "both write a.md"},
		{two("{id: c, by: b, writes: c.md, needs: ¦[d]}"), `needs unknown stage "d"`},
		{two("{id: c, by: b, writes: c.md, needs: ¦[c]}"), "needs itself"},
		{two("{id: c, by: b, writes: c.md, needs: ¦[a, a]}"), `has "a" twice`},
		{two("{id: c, by: b, writes: c.md, needs: ¦a}"), "needs must be a list"},
		{"stages:\n- {id: a, by: b, writes: a.md, needs: ¦[c]}\n- {id: c, by: b, writes: c.md}", "comes later"},
		{stage(", format: ¦markdown"), `unknown format "markdown"`},
		{stage(", format: {headings: ¦[]}"), "headings is empty"},
		{stage(", format: ¦{headings: [A], schema: x.json}"), "must have one key"},
		{stage(", format: {schema: ¦none.json}"), "not a readable file"},
		{stage(", format: {schema: ¦../x.json}"), "not a readable file"},
		{stage(", format: {schema: ¦{type: 7}}"), "schema:"},
		{stage(", format: {schema: ¦{$ref: 'http://x/y'}}"), "a schema refers to itself"},
		{"stages:\n- {id: a, by: b, writes: '*.md', format: ¦{schema: {}}}", "a pattern of files has no schema"},
		{stage(", gate: {approved: ¦false}"), "approved must be true"},
		{stage(", gate: {approved: [¦self]}"), "none of human, other and lead"},
		{stage(", gate: {verified: ¦[]}"), "verified is empty"},
		{stage(", gate: {verified: [¦'']}"), "must name the arguments"},
		{stage(", gate: {verified: [¦'a && b']}"), "characters of a shell"},
		{stage(", gate: {verified: [{command: [a], dir: ¦../x}]}"), "leaves the workspace"},
		{stage(", gate: {verified: [¦{dir: x}]}"), "must name the arguments"},
		{stage(", gate: {¦run: x}"), `unknown key "run"`},
		{stage(", gate: ¦true"), "gate must be a mapping"},
		{stage(", on: [¦a]"), `must be a mapping, not "a"`},
		{stage(", on: {FAIL: ¦b}"), "unknown stage b"},
		{stage(", on: {¦'a b': a}"), "is not an outcome"},
		{stage(", on: {FAIL: ¦[a]}"), "must be a text"},
		{stage(", on: [¦{when: {x: y}, to: a, ask: b}]"), "either a stage"},
		{stage(", on: [¦{to: a}]"), "has no condition"},
		{stage(", retries: ¦-1"), "retries must be a number from 0"},
		{stage(", retries: ¦many"), "retries must be a number"},
		{stage(", retries: ¦1000"), "retries must be a number from 0"},
		{stage(", optional: ¦maybe"), "optional must be true or false"},
		{stage(", checks: ¦[plans]"), `unknown check "plans"`},
		{"preset: ¦other", `unknown preset "other"`},
		{"folder: ¦../x\nstages:\n- {id: a, by: b, writes: a.md}", "not a path inside"},
		{"folder: ¦.handoff/x\nstages:\n- {id: a, by: b, writes: a.md}", "in a directory of git or handoff"},
		{"folder: ¦'runs/*'\nstages:\n- {id: a, by: b, writes: a.md}", "is a pattern"},
		{"pipelines: ¦[]", "pipelines must be a mapping"},
		{"pipelines:\n  a: ¦{stages: []}", "has no stages"},
		{"pipelines:\n  ¦jg: {preset: jg}", "is not the name of a pipeline"},
		{"pipelines:\n  a: {preset: jg}\n  ¦a: {preset: jg}", `duplicate key "a"`},
		{"preset: jg\nstages:\n- {id: lint, by: l, writes: l.json, needs: ¦[nowhere]}", "unknown stage"},
		{"preset: jg\nstages:\n- ¦{id: lint, by: l, writes: l.json}", "unknown stage"},
	} {
		before, after, _ := strings.Cut(tt.yaml, "¦")
		_, err := contract.Parse("p.yaml", []byte(before+after), nil)
		var mistakes contract.Mistakes
		if !errors.Is(err, handoff.Invalid) || !errors.As(err, &mistakes) {
			t.Errorf("%q: got %v, want mistakes", tt.yaml, err)
			continue
		}
		line, column := 1+strings.Count(before, "\n"), 1+len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
		if m := mistakes[0]; m.Line != line || m.Column != column || !strings.Contains(m.Text, tt.want) || m.Hint == "" ||
			m.File != "p.yaml" {
			t.Errorf("%q:\ngot  %+v\nwant line %d, column %d: %s", tt.yaml, m, line, column, tt.want)
		}
	}
}

// TestDefinitionSchema checks that the published schema accepts what Parse accepts.
func TestDefinitionSchema(t *testing.T) {
	b, err := os.ReadFile("builtin/definition.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	schema, err := jsonschema.Compile("contract:///builtin/definition.schema.json", doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	check := func(text string) []jsonschema.Problem {
		var v any
		if err := yaml.Load([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		j, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(strings.NewReader(string(j)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return append(schema.Check(v), schema.UnknownKeys(v)...)
	}
	preset, err := os.ReadFile("builtin/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{ownYAML, string(preset)} {
		if found := check(text); len(found) > 0 {
			t.Errorf("%s\ngot %v", text, found)
		}
	}
	for _, text := range []string{"stages: {}", "stages: [{by: b, writes: x}]", "stages: [{id: a, by: b, writes: x, run: y}]",
		"preset: other", "stages: [{id: a, by: b, writes: x, retries: -1}]", "stages: [{id: a, by: b, writes: x, format: md}]",
		"stages: [{id: a, by: b, writes: x, gate: {approved: [self]}}]"} {
		if found := check(text); len(found) == 0 {
			t.Errorf("%s: accepted", text)
		}
	}
}

func FuzzDefinition(f *testing.F) {
	f.Add([]byte(ownYAML))
	f.Add([]byte("pipelines: {a: {preset: jg, stages: [{id: plan, on: [{when: {a: [1, null]}, ask: human}]}]}}"))
	f.Add([]byte("stages: [{id: a, by: b, writes: '**/[a-z]', format: {headings: [x]}, needs: [a]}]"))
	f.Fuzz(func(t *testing.T, b []byte) {
		all, err := contract.Parse("p.yaml", b, ownFiles)
		var mistakes contract.Mistakes
		if err != nil && (!errors.As(err, &mistakes) || slices.ContainsFunc(mistakes, func(m contract.Mistake) bool {
			return m.Line < 1 || m.Column < 1 || m.Hint == "" || m.Text == ""
		})) {
			t.Fatalf("%q: got %#v, want mistakes with places and hints", b, mistakes)
		}
		for _, p := range all {
			for _, s := range p.Stages {
				if err == nil {
					s.Validate([]byte("# a\n{}"))
				}
			}
			if _, again := contract.Parse("p.yaml", p.Source(), nil); err == nil && again != nil {
				t.Fatalf("%q: its own definition\n%s\nis refused: %v", b, p.Source(), again)
			}
		}
	})
}

// TestSchemaFiles checks that a definition which is accepted is one that a run can read: the
// files of its schemas become part of it.
func TestSchemaFiles(t *testing.T) {
	object := `{"type":"object","description":"` + strings.Repeat("x", contract.MaxFile/2) + `"}`
	files := fstest.MapFS{"s.yaml": {Data: []byte("type: object\nproperties:\n  a: &s {type: string}\n  b: *s\n")},
		"large.json": {Data: []byte(object)}}
	for _, tt := range []struct{ schemas, want string }{
		{"s.yaml", "s.yaml: line 3, column 6: an anchor is not supported: &s"},
		{"large.json", ""},
		{"large.json large.json", "bytes together with its schemas, more than 1048576"},
	} {
		text := "stages:\n"
		for i, file := range strings.Fields(tt.schemas) {
			text += fmt.Sprintf("- {id: s%d, by: x, writes: %d.json, format: {schema: %s}}\n", i, i, file)
		}
		all, err := contract.Parse(contract.Definition, []byte(text), files)
		if tt.want != "" {
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: got %v, want %q", tt.schemas, err, tt.want)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.schemas, err)
		}
		if _, err := contract.ParseRun(contract.RunDefinition, all[""].Source()); err != nil {
			t.Errorf("%s: the definition of a run: %v", tt.schemas, err)
		}
	}
}
