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
)

var update = flag.Bool("update", false, "rewrite generated files")

const page = "../../../docs/pipeline.md"

// TestPage checks that docs/pipeline.md matches the pipeline and its schemas.
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
		t.Errorf("%s is out of date; go test ./internal/pipeline/contract -run TestPage -update rewrites it", page)
	}
}

// A schema is the part of a JSON Schema that the page shows.
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
	p := builtin()
	b.WriteString("## Stages\n\n| stage | content | file | written by | read by | retries | checks " +
		"|\n|---|---|---|---|---|---|---|\n")
	for _, s := range p.Stages {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d | %v |\n", s.Name, s.Purpose, code(s.Files()...), code(s.Writer),
			code(s.Readers...), s.Retries, strings.Trim(fmt.Sprint(s.Checks), "[]"))
	}
	b.WriteString(routesIntro)
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
				next += ", in the next tier"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", s.Name, strings.Join(when, ", "), next, r.Reason)
		}
	}
	common := readSchema(t, "common.schema.json")
	fmt.Fprintf(&b, "\n## %s\n\nself_assessment is %s here; a project can require it.\n\n", common.Title, p.SelfAssessment)
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
	b.WriteString("| field | type | required | description |\n|---|---|---|---|\n")
	rows(t, b, s, s, common, "")
}

// rows writes one row per field, including the fields of nested objects.
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

// follow returns the target of a reference, with the required keys of both.
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

const intro = `<!-- Generated by go test ./internal/pipeline/contract -run TestPage -update. -->

# Pipelines

A pipeline leads from an issue to a result in stages. Each stage has one writer,
which submits one artifact. Handoff validates artifacts, keeps every
attempt, and computes which agent acts next. It does not run agents.

A repository defines its pipelines in [handoff.pipeline.yaml](#pipelines-of-your-own).
Without that file, runs have the built-in pipeline, which the rest of this page describes:
it leads from an issue to a merge, and its artifacts are JSON.

A run is a folder with one file per stage. A missing file is a stage that has not
been done. A linked git worktree uses the folders of the main worktree. A folder that exists
only in the linked worktree, because someone made it, is used there.

` + "```" + `
.pipeline/
  42/                    one run; 42 is the issue ID
    plan.json …          one artifact per stage, as indented JSON
    state.yaml           the planner's notes (optional)
    pipeline-trace.json  the order and durations of attempts (optional)
  completed/             archived runs
  lessons.yaml           known failures and their mitigations, for all runs
` + "```" + `

| command | purpose |
|---|---|
| ` + "`handoff pipeline list`" + ` | list every run, open and archived |
| ` + "`handoff pipeline init ISSUE`" + ` | create the folder of a run; with --restore, write its files again |
| ` + "`handoff pipeline next ISSUE`" + ` | show which agent acts next, what it reads and writes, and why |
| ` + "`handoff pipeline start ISSUE STAGE`" + ` | record that an agent works on a stage, with what it was given |
| ` + "`handoff pipeline put ISSUE STAGE FILE\\|-`" + ` | submit an artifact: validate it, record it and write it to the folder |
| ` + "`handoff pipeline adopt ISSUE\\|DIR`" + ` | record the files of a run of another tool as they are |
| ` + "`handoff pipeline schema [STAGE]`" + ` | print the JSON Schema of an artifact, of the run of --issue, or with --example an example |
| ` + "`handoff pipeline get ISSUE STAGE`" + ` | print the path of an artifact; with --restore, write its newest attempt first |
| ` + "`handoff pipeline validate FILE…`" + ` | validate artifacts against their contracts, those in the folder of a run against that run's |
| ` + "`handoff pipeline gate ISSUE STAGE`" + ` | check whether a stage is ready to build on |
| ` + "`handoff pipeline archive ISSUE`, `unarchive NAME`" + ` | archive a finished run, or move it back |
| ` + "`handoff show ISSUE`" + ` | list every attempt with its inputs, revision, time and decision, what is stale, and what comes next; with --state, derive state.yaml |
| ` + "`handoff read ISSUE/plan.json --rev 1`" + ` | print an earlier attempt |

## Attempts

` + "`put`" + ` records each attempt on the channel of its stage, together with the attempts
it was made from. When one of those stages is done again, with any content, the
artifact is stale: ` + "`show`" + ` and ` + "`list --stale`" + ` report it, and ` + "`next`" + ` repeats its
stage before anything is built on it. After a retry (implement 2 from debug 1 from test 1 from
implement 1) nothing is stale, and ` + "`next`" + ` asks for test 2. With --accept-stale, ` + "`next`" + ` goes forward over stale artifacts, but
does not repeat a stage because of an outdated failure.

` + "`next`" + ` prints a ticket: the stage, the number of the attempt, and the IDs and
digests of the inputs, encoded in the text. Nothing is stored for it. ` + "`put --ticket`" + ` records
exactly these inputs, whatever was submitted since: the review of a change that was
replaced is stale, not a review of the new one. A ticket of another stage, issue or archived
run is refused, and so is one that contradicts the records. Without --ticket and --from, the
inputs are those of the work that the caller started; without that, what is current is
recorded, and ` + "`show`" + ` notes that the inputs are assumed.

` + "`start`" + ` records that an agent works on a stage, with the ticket. ` + "`put`" + ` of the stage ends the work
if both have the same run, otherwise the same session, otherwise the same thread or a subagent
of it. Where one of them has none of these, the agent must be the same. While work with the
current ticket is open, ` + "`next`" + ` shows it, and ` + "`start`" + ` of the stage needs --again. It counts as
open until its end is recorded, its process or session has ended, or 30 minutes have passed. Its
process is the agent program that the command descends from; a shell without one has none. When
the run is archived, it is recorded as cancelled. Work that was given other inputs does not count.

Submitting the same artifact again, made from the same attempts, adds no attempt,
unless ` + "`next`" + ` asks for that stage.

Results of different writers for one attempt of a stage compete: they had the same inputs,
and each was given that attempt, or submitted it when ` + "`next`" + ` did not ask for the stage. A
writer is a run, otherwise a session, a thread or an agent. ` + "`next`" + ` then asks a person to decide and
lists the results: ` + "`handoff withdraw`" + ` rejects one, and the file has the content of the newest
that is left. Together they count once against the retries. The newest result of a writer
replaces its earlier ones, and results with the same content do not compete.

An issue is a namespace and plan.json a name in it. The folder contains the newest
attempt; earlier ones remain readable. A file that was written into the folder by
hand is an attempt too; ` + "`put`" + ` saves it before it writes another one. A file that has
the content of an earlier attempt again, because git or a person took it back, is that
attempt: ` + "`next`" + ` goes on from it, and ` + "`next`" + ` and ` + "`show`" + ` report it. Only ` + "`put`" + `, ` + "`get`" + `
with --restore, ` + "`check --repair`" + ` and ` + "`withdraw`" + ` of an attempt of its stage write the newest
attempt over it. ` + "`put`" + ` of the file makes it the newest.

` + "`put ISSUE state`" + ` records the planner's state.yaml in the same way. It is a YAML mapping
with the fields that ` + "`show ISSUE --state`" + ` derives from the artifacts; further fields are
allowed. The planner reads every artifact and the lessons: ` + "`next`" + ` names
lessons.yaml to it and to the writer of the plan, if the file exists.

The lessons are a file that people and agents edit: a list, alone or as the key lessons, in which a
pattern and a mitigation are required. ` + "`handoff pipeline validate .pipeline/lessons.yaml`" + ` checks it. With
more than 50 lessons there is a warning: keep the newest.

` + "```yaml\n" + exampleLessons + "```" + `

An artifact that violates its contract is refused. ` + "`put --lenient`" + ` records it, and
` + "`adopt`" + ` records all files of a run that another tool wrote, as they are. What such an
artifact violates is a warning then, also for gates, and ` + "`next`" + ` goes on from it. What
git knows about the change is checked as usual, but for a merge that was adopted it is
only a warning: it may have been made in another clone.

If all files were written by hand, their order is unknown. File times are not
used, because a checkout changes them. ` + "`next`" + ` reports when its answer depends on the
order.

## Validation and gates

` + "`validate`" + ` checks a single artifact against its schema, and that the planned files are in
the workspace. Unknown keys are warnings.

` + "`gate`" + ` checks whether a stage is ready to build on. It also checks that the
artifact is consistent with itself and with earlier artifacts: the verdict of a
test agrees with its checks, the verdict of a review with its blockers and
concerns, and the files that changed in git with the plan and the worker's list.
A stage whose verdict is FAIL is not ready to build on: the exit code is 1, and
` + "`gate`" + ` prints what comes next.

` + "`put`" + ` records the verdict of the gate with the attempt, in the working tree of the one who
submits. The viewer shows that verdict; ` + "`gate`" + ` checks again, in the tree in which it is called.

The gates of implement and git compare the files that changed since the main branch:
origin/HEAD, main, master, trunk, develop, or init.defaultBranch of git. If none exists and
there are several branches, name one with --base. Keep the files that you submit outside of the
working tree, or submit them on standard input. Two runs at the same time need a worktree each: in one tree, the
gate of each run reports the files of the other. What handoff writes is not a
change: .pipeline, .handoff and the folder of agent outputs.

The gate of git also looks up the branch and the commit in git: both must exist, the
commit must be on the branch, and it must contain the change. Without git it warns.

## Archived runs

` + "`archive`" + ` moves the folder of a run to .pipeline/completed, if no step is left and the gate
of git passes. A second run of the same issue gets the folder
42~2. ` + "`show`" + `, ` + "`get`" + ` and ` + "`gate`" + ` accept completed/42 and completed/42~2;
42 is the current run, or without one the run that was archived last.

If the folder of a run is removed, its attempts are still in the log: ` + "`show`" + ` lists
them, and ` + "`init`" + ` with --restore writes the files again.

`

const routesIntro = `
## Routes

A route maps an outcome to the next stage. Without a matching route the next stage
in the table above follows; debug is entered by a route only. When the retries of a
stage are used up, a person acts next. A stage has its retries in each model tier.

A stage is repeated because an earlier one was done again, or as one of its
retries. Therefore a driver that submits what ` + "`next`" + ` asks for always comes to an
end: the run is done, or ` + "`next`" + ` names a person or another agent that writes no
artifact and decides what to do.

| stage | when | next | reason |
|---|---|---|---|
`

const outro = `
## Pipelines of your own

` + "`handoff.pipeline.yaml`" + ` is at the root of the main worktree. The pipeline at its top level is that
of new runs; further ones have names, which ` + "`handoff pipeline init ISSUE --pipeline NAME`" + ` takes.
` + "`handoff pipeline schema`" + ` prints the JSON Schema of the file.

` + "```yaml" + `
stages:
  - {id: design, by: architect, writes: docs/design.md, format: {headings: [Goal, Risks]}, gate: {approved: true}}
  - {id: build, by: builder, needs: [design], writes: fix.diff, gate: {verified: [go test ./...]}, retries: 2}
pipelines:
  research:
    stages:
      - {id: web, by: searcher, writes: "web/**/*.md"}
      - {id: code, by: reader, writes: code.md}
      - {id: merge, by: writer, needs: [web, code], writes: report.md, on: {FAIL: web, redo: human}}
` + "```" + `

| key | meaning |
|---|---|
| id | the name of the stage, which is also the channel of its artifacts |
| by | the agent that does it, or ` + "`human`" + ` |
| writes | the file that it leaves in the folder of the run, or a pattern of files: ` + "`*` and `?`" + ` match no slash, ` + "`**`" + ` does. Each file of a pattern is an artifact of its own; together they are at most 1,000 files and 64 MiB |
| format | ` + "`any`" + ` (default), ` + "`{headings: [A, B]}`" + ` for Markdown, or ` + "`{schema: FILE}`" + ` for JSON, where FILE is relative to the definition and refers to no other file; the schema can also be inline |
| needs | the earlier stages that it is made from. Stages that do not need each other can be done at the same time |
| gate | what is needed before the run goes on: ` + "`approved`" + ` (true, or a list of human, other, lead) and ` + "`verified`" + `, a list of commands |
| on | what follows an outcome: a stage or ` + "`human`" + `. Without it the stages follow that need this one |
| retries | how often the stage may be done again before a person is asked (default 2) |
| optional | the run goes on without it |

A definition and its schema files have no expressions, variables or anchors. What it can't express is refused, with line,
column and a hint. Nothing in a definition is ever executed. The gate looks for a review of exactly the
bytes, or for an attestation: ` + "`handoff attest`" + ` ran exactly the arguments of the command in the root of
the workspace, or in ` + "`dir`" + `, before the artifact was submitted in the same worktree, or afterwards in
the one where ` + "`next`" + ` is called. A command is given as words, or as a list of its arguments, also as
` + "`{command: [make, test], dir: api}`" + `; one that needs a shell is refused.

The outcome of JSON is its verdict, status, classification or outcome. That of other files is given with
` + "`handoff pipeline put --outcome WORD`" + `. A review that requests changes has the outcome changes_requested;
without a route for it, the stage is done again. A route to a later stage counts only after the gate of its stage is
satisfied. An attestation from before the submission counts until the command fails on the current tree. An outcome
such as FAIL, blocked or rejected without a route is for a person to decide.

The files of a run are in ` + "`.pipeline/ISSUE`" + `, or in ` + "`FOLDER/ISSUE`" + ` if the pipeline has the key ` + "`folder`" + `.
A linked worktree uses those of the main worktree. A run keeps the definition that it started with: ` + "`init`" + `, or
the first ` + "`put`" + ` or ` + "`adopt`" + `, records it, and the first record counts. ` + "`pipeline.yaml`" + ` in ` + "`.pipeline/ISSUE`" + ` is a copy
for people. If it was edited or removed, every command goes by the record and names the file, and the run is archived
only with ` + "`--force`" + `; to write it again, remove it and run ` + "`handoff pipeline init ISSUE --restore`" + `. A run
whose definition has no record has that of the file, and without the file the built-in pipeline.

## Folders of other tools

` + "`handoff pipeline adopt DIR`" + ` records the files of another tool as they are. Each file is an artifact, made
from those of the stages that its stage needs. Nothing is moved, and a second call adds nothing. A run keeps only
its definition in ` + "`.pipeline/ISSUE`" + `.

| tool | DIR | runs | stages |
|---|---|---|---|
| OpenSpec | openspec | openspec/changes/ID | proposal, specs, design, tasks |
| spec-kit | specs | specs/NNN-NAME | spec, checklists, plan, research, data-model, contracts, quickstart, tasks |
| Kiro | .kiro | .kiro/specs/NAME | requirements, bugfix, design, tasks |
| a definition with ` + "`folder`" + ` | its folder | FOLDER/ISSUE | its own |

When such a run is archived, its definition moves to .pipeline/completed and its files stay where they
are. It is not adopted again until it is unarchived. With --watch the command goes on until it is interrupted. With --define it writes the definition of the tool to
` + "`handoff.pipeline.yaml`" + `. Who writes or approves a file is not in these folders: the stages are ` + "by `author`" + `,
and have no gates.

## The preset

` + "`preset: jg`" + ` starts from the built-in pipeline: a stage with a known id replaces the keys that it
has, and a new one follows the last stage that it needs. The built-in pipeline is in this format; it uses these keys too:
purpose, aliases (other names of the file), readers (the agents that read it), checks, detour (entered by ` + "`on`" + `
only), skip (the complexity of issues that do not need it), a list of conditions in ` + "`on`" + `, and
self_assessment, planner and agent_prefix at the top level.

The key checks names the rules of a stage's gate: plan, changes, tests, review or
merge, as in the table of stages. A stage without it has no rules beside its
schema. A stage in place of plan, for example, has checks: [plan], and its
artifact the fields of plan.json.

` + "```yaml" + `
preset: jg
self_assessment: required
stages:
  - id: lint
    purpose: the result of the linter
    writes: lint-result.json
    by: team-linter
    readers: [jg-worker]
    needs: [implement]
    optional: true             # the run goes on without it
    format:
      schema:
        type: object
        required: [verdict, errors]
        properties:
          verdict: {enum: [PASS, FAIL]}
          output: {type: string}
          errors: {type: array}
          produced_by: {type: string}
    on:                        # the first match is used
      - when: {verdict: FAIL}
        to: implement
        reason: the linter reports errors
  - id: test
    retries: 4
    gate: {verified: [go test ./...]}
` + "```" + `

Schemas are JSON Schema 2020-12. A reference leads to a place in the schema itself or to a
built-in schema such as ` + "`/builtin/common.schema.json`" + `; the network is not used.
Unsupported keywords and formats are rejected, not ignored: unevaluatedItems,
unevaluatedProperties, dynamic references, anchors, and misspelled keywords.
Keywords that start with x- are allowed and ignored.
`
