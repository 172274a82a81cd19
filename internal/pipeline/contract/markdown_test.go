package contract_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-handoff/handoff/internal/pipeline/contract"
)

var update = flag.Bool("update", false, "rewrite what is generated")

const page = "../../../docs/pipeline.md"

// TestPage holds docs/pipeline.md in step with the pipeline and its schemas.
func TestPage(t *testing.T) {
	want := markdown(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the schemas say; go test ./contract -run TestPage -update rewrites it", page)
	}
}

// schema is as much of a JSON Schema as the page shows.
type schema struct {
	Title, Description string
	Type               any
	Enum               []any
	Ref                string `json:"$ref"`
	Required           []string
	Properties         map[string]schema
	Additional         *schema `json:"additionalProperties"`
	Items              *schema
	AllOf              []schema
	Defs               map[string]schema `json:"$defs"`
	Deprecated         bool
	Minimum, Maximum   *float64
	Format             string
}

func readSchema(t *testing.T, name string) schema {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("builtin", name))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatal(name, err)
	}
	return s
}

func markdown(t *testing.T) string {
	var b strings.Builder
	b.WriteString(intro)
	p := contract.Builtin()
	b.WriteString("## Stages\n\n| stage | what it says | file | written by | read by | done again |\n|---|---|---|---|---|---|\n")
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | at most %d times |\n", s.Name, s.Purpose, code(s.Files()...), code(s.Writer), code(s.Readers...), s.Retries)
	}
	b.WriteString("\n## Where outcomes lead\n\nWhere no line fits, the next stage follows; debug is entered by a line only.\nWhat has been done again as often as it may goes to a person.\n\n| stage | when | next | because |\n|---|---|---|---|\n")
	for _, s := range p.Stages {
		for _, r := range s.Routes {
			var when []string
			for _, field := range slices.Sorted(maps.Keys(r.When)) {
				when = append(when, fmt.Sprintf("%s is %v", field, r.When[field]))
			}
			next := r.To
			if r.Ask != "" {
				next = "ask " + r.Ask
			}
			if r.Escalate {
				next += ", one tier higher"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Name, strings.Join(when, ", "), next, r.Reason)
		}
	}
	common := readSchema(t, "common.schema.json")
	fmt.Fprintf(&b, "\n## %s\n\nself_assessment is %s here; a project may require it.\n\n", common.Title, p.SelfAssessment)
	table(t, &b, common, common)
	for _, s := range p.Stages {
		own := readSchema(t, s.Name+".schema.json")
		fmt.Fprintf(&b, "\n## %s: %s\n\n", s.Artifact, own.Title)
		table(t, &b, own, common)
	}
	b.WriteString(outro)
	return b.String()
}

func code(names ...string) string { return "`" + strings.Join(names, "` `") + "`" }

func table(t *testing.T, b *strings.Builder, s, common schema) {
	b.WriteString("| field | is | required | what |\n|---|---|---|---|\n")
	rows(t, b, s, s, common, "")
}

// rows writes a line for each field, and for those of objects within.
func rows(t *testing.T, b *strings.Builder, s, file, common schema, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		given := s.Properties[name]
		field := follow(t, given, file, common)
		required := ""
		if slices.Contains(s.Required, name) {
			required = "yes"
		}
		what := given.Description
		if given.Deprecated {
			what += " (deprecated)"
		}
		if what == "" {
			t.Errorf("%s%s has no description", prefix, name)
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s | %s |\n", prefix, name, kindOf(field), required, what)
		rows(t, b, field, file, common, prefix+name+".")
		if field.Items != nil {
			item := follow(t, *field.Items, file, common)
			rows(t, b, item, file, common, prefix+name+"[].")
		}
		if field.Additional != nil {
			rows(t, b, follow(t, *field.Additional, file, common), file, common, prefix+name+".*.")
		}
	}
}

// follow returns what a schema refers to, with its own required keys.
func follow(t *testing.T, s, file, common schema) schema {
	if s.Ref == "" {
		return s
	}
	defs, name := file.Defs, strings.TrimPrefix(s.Ref, "#/$defs/")
	if rest, ok := strings.CutPrefix(s.Ref, "common.schema.json#/$defs/"); ok {
		defs, name = common.Defs, rest
	}
	to, ok := defs[name]
	if !ok {
		t.Fatalf("no schema %s", s.Ref)
	}
	to = follow(t, to, file, common)
	to.Required = append(slices.Clone(to.Required), s.Required...)
	return to
}

func kindOf(s schema) string {
	if len(s.Enum) > 0 {
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
			if v == nil {
				words[i] = "null"
			}
		}
		return strings.Join(words, ", ")
	}
	var kinds []string
	switch kind := s.Type.(type) {
	case string:
		kinds = []string{kind}
	case []any:
		for _, k := range kind {
			kinds = append(kinds, fmt.Sprint(k))
		}
	}
	text := strings.Join(kinds, ", ")
	if s.Format != "" {
		text += " (" + s.Format + ")"
	}
	if s.Minimum != nil {
		text += fmt.Sprintf(", at least %v", *s.Minimum)
	}
	if s.Maximum != nil {
		text += fmt.Sprintf(", at most %v", *s.Maximum)
	}
	return text
}

const intro = `<!-- Generated from contract/builtin; go test ./contract -run TestPage -update rewrites it. -->

# Pipelines

A pipeline leads from an issue to a merge in stages. A run is a folder with one
file a stage; a file that is missing says that its stage has not been done.

` + "```" + `
.pipeline/
  42/                    one run; 42 is the issue
    plan.json …          one artifact a stage: JSON, indented by two, newline at the end
    state.yaml           the planner's own notes, if it keeps any
    pipeline-trace.json  the order of attempts and how long they took, if someone writes it
  completed/             archived runs
  lessons.yaml           failures that were seen before, across runs
` + "```" + `

| command | answers |
|---|---|
| ` + "`handoff pipeline init ISSUE`" + ` | makes the run's folder |
| ` + "`handoff pipeline next ISSUE`" + ` | which agent acts next, from what, and why |
| ` + "`handoff pipeline brief ISSUE --for AGENT`" + ` | what that agent reads and writes, in a few lines for its prompt |
| ` + "`handoff pipeline put ISSUE STAGE FILE\\|-`" + ` | hands an artifact in: checked, recorded, written to the folder |
| ` + "`handoff pipeline get ISSUE STAGE`" + ` | where an artifact lies, never what is in it |
| ` + "`handoff pipeline validate FILE…`" + ` | whether artifacts are well formed; --compat answers as pipeline/schema.py did |
| ` + "`handoff pipeline gate ISSUE STAGE`" + ` | whether a stage may be built upon |
| ` + "`handoff pipeline history ISSUE`" + ` | every attempt, and what each was made from |
| ` + "`handoff pipeline trace ISSUE`" + ` | how long things took, and what was done again; --state derives state.yaml |
| ` + "`handoff pipeline archive ISSUE`, `unarchive NAME`" + ` | moves a finished run away, and back |
| ` + "`handoff pipeline lessons add\\|list\\|match\\|prune`" + ` | failures that were seen before, and what helped |
| ` + "`handoff show ISSUE`" + ` | the run at a glance: what came of each stage, what is stale, what comes next |
| ` + "`handoff read ISSUE/plan.json --rev 1`" + ` | an earlier attempt |

Put records each attempt on its stage's channel, with the digests of what it was
made from. Once one of those has changed, what was made from it is stale: show
says so, and next has it done again before anything is built on it, unless
--accept-stale is given. An issue is a namespace, and plan.json a name in it:
the newest attempt lies in the folder, every earlier one can be read. A file that
somebody wrote into the folder is an attempt too, and put keeps it before it
writes another.

Validate says whether an artifact is well formed; keys that a contract doesn't
name are warnings. Gate says whether a stage may be built upon: its artifact is
held against itself and against those before it. A test's verdict agrees with its
checks, a review's with its blockers and concerns; what changed in git is what
was planned and what the worker says.

A folder that was written by hand doesn't tell in which order, and file times are
not believed: a checkout changes them. Where the answer hangs on that, next says
so.

`

const outro = `
## A project's own stages

Files ` + "`.handoff/pipelines/*.yaml`" + ` are read in the order of their names. A stage that
there is already takes the keys given and keeps the others; a new one says after
which stage it comes. A schema is a file beside, or stands in place.

` + "```yaml" + `
# .handoff/pipelines/team.yaml
self_assessment: required
stages:
  - name: lint
    purpose: what the team's linter says
    artifact: lint-result.json
    writer: team-linter
    readers: [jg-worker]
    after: implement
    optional: true             # its absence stops nobody
    schema:
      type: object
      required: [verdict, errors]
      properties:
        verdict: {enum: [PASS, FAIL]}
        output: {type: string}
        errors: {type: array}
        produced_by: {type: string}
    routes:                    # the first that fits counts
      - when: {verdict: FAIL}
        to: implement
        reason: the linter found what to fix
  - name: test
    retries: 4
` + "```" + `

Schemas are JSON Schema 2020-12. A reference leads to a file of the same folder, or
to a built-in one, ` + "`/builtin/common.schema.json`" + `; nothing is fetched. A keyword or
format that handoff doesn't know is refused, never passed over: those of
unevaluated properties and items, dynamic references, anchors, and misspelt ones.
Names that begin with x- are yours.
`
