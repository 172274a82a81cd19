// Package contract defines pipelines and validates the artifacts of their
// stages.
//
// A [Pipeline] is data: the stages in their order, what each needs, the agents that
// write and read each artifact, the next stage for each outcome, and what the artifact
// must look like. [Parse] reads the pipelines of a repository, handoff.pipeline.yaml. The
// built-in pipeline is embedded in the same format; [Load] changes it as a project's files
// in .handoff/pipelines say. How artifacts relate to each other is the subject of package
// progress.
package contract

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/jsonschema"
	"go.yaml.in/yaml/v4"
)

// A Pipeline is a list of stages. Each needs the results of stages before it.
type Pipeline struct {
	Name string `yaml:"-"` // "" for the one at the top level of a definition

	// Preset is PresetJG if the stages are those of the built-in pipeline, with changes.
	Preset string `yaml:"preset"`

	// Folder is the directory of the folders of its runs, relative to the workspace.
	Folder string `yaml:"folder"`

	// SelfAssessment is Required if every artifact must contain one.
	SelfAssessment Requirement `yaml:"self_assessment"`

	// Planner is the agent that reads every artifact and the lessons, and writes
	// state.yaml, "" if there is none.
	Planner string `yaml:"planner"`

	// AgentPrefix is a prefix that the name of an agent may have or not.
	AgentPrefix string `yaml:"agent_prefix"`

	Stages []*Stage `yaml:"-"` // in order

	node   *yaml.Node // where it is defined
	source []byte     // its definition, complete in itself; nil for the preset as it is
}

// IsPreset reports whether the stages are those of the built-in pipeline, with changes of
// the project.
func (p *Pipeline) IsPreset() bool { return p.Preset == PresetJG }

// Source returns the definition of a pipeline, complete in itself, nil if it is the
// built-in one.
func (p *Pipeline) Source() []byte { return p.source }

// A Requirement is "optional" or "required".
type Requirement string

const (
	Optional Requirement = "optional"
	Required Requirement = "required"
)

// A Stage is one step of a pipeline. Its name is also its channel.
type Stage struct {
	Name     string   `yaml:"id"`
	Purpose  string   `yaml:"purpose"`
	Artifact string   `yaml:"writes"`   // the file in the run's folder, or a pattern of its files
	Aliases  []string `yaml:"aliases"`  // other names of that file, oldest attempt first
	Writer   string   `yaml:"by"`       // the one agent that writes it
	Needs    []string `yaml:"needs"`    // the earlier stages that it is made from
	Readers  []string `yaml:"readers"`  // the agents that read it; nil for those of the stages that need it
	Retries  int      `yaml:"retries"`  // the number of retries before a person is asked
	Optional bool     `yaml:"optional"` // the run goes on without it
	Detour   bool     `yaml:"detour"`   // entered by a route only
	Skip     string   `yaml:"skip"`     // the complexity of issues that do not need it
	Format   Format   `yaml:"format"`
	Routes   Routes   `yaml:"on"`
	Checks   []Check  `yaml:"checks"` // what its gate checks beside the contract
	Gate     Gate     `yaml:"gate"`

	node   *yaml.Node                // where it is defined
	after  string                    // the stage that a project's stage was inserted after
	schema *schema                   // nil if the artifact needs none
	common func() *jsonschema.Schema // the fields of every artifact, nil if there are none
	assess bool
}

// A Format is what an artifact must look like.
type Format struct {
	Headings []string  `yaml:"headings"` // those of a text, nil if it needs none
	Schema   yaml.Node `yaml:"schema"`   // the JSON Schema, or the name of its file; zero if it needs none
}

// A Gate is what the gate of a stage needs before the run goes on to other stages.
type Gate struct {
	// Approved are the relations of reviewers of whom one must have approved exactly the bytes of
	// the artifact; empty for those that count by default, nil for no approval.
	Approved Relations `yaml:"approved"`

	// Verified are the commands that must be verified: handoff attested them on the files as
	// they are when the gate checks. Other commands do not count.
	Verified []Command `yaml:"verified"`
}

// Relations are the relations of reviewers to an author.
type Relations []handoff.Relation

// A Command is a command that a gate needs. Nothing runs it.
type Command struct {
	Argv words  `yaml:"command"`
	Dir  string `yaml:"dir"` // slash-separated, relative to the workspace; "" for its root
}

// A Check is a set of rules that a gate applies to an artifact. A stage has the
// rules that its definition names, whatever the stage is called.
type Check string

const (
	CheckPlan    Check = "plan"    // the steps of a plan and its affected files agree, and each criterion has a test
	CheckChanges Check = "changes" // the changed files agree with the plan and with the worker's list
	CheckTests   Check = "tests"   // the verdict of a test result agrees with its checks
	CheckReview  Check = "review"  // the verdict of a review agrees with its findings
	CheckMerge   Check = "merge"   // tests and review passed, and the changed files agree with the plan
)

var checks = []Check{CheckPlan, CheckChanges, CheckTests, CheckReview, CheckMerge}

// Has reports whether the gate of a stage has a check.
func (s *Stage) Has(c Check) bool { return slices.Contains(s.Checks, c) }

// A Route maps an outcome to a stage or to an agent that writes no artifact. The
// first matching route of a stage is used.
type Route struct {
	When     map[string]any `yaml:"when"` // the artifact's fields; a list contains alternative values
	To       string         `yaml:"to"`
	Ask      string         `yaml:"ask"`
	Escalate bool           `yaml:"escalate"` // to the next tier, which does not count as a retry
	Reason   string         `yaml:"reason"`

	node *yaml.Node // where it is defined
}

// Routes are the routes of a stage, in the order in which they are tried.
type Routes []Route

// OutcomeField is the field of a condition that is the outcome of an artifact, wherever
// the artifact has it.
const OutcomeField = "outcome"

// Matches reports whether an artifact has the value of every field of the route.
func (r Route) Matches(artifact map[string]any) bool {
	for field, want := range r.When {
		got, ok := artifact[field]
		if field == OutcomeField {
			got, ok = Outcome(artifact), artifact != nil
		}
		if !ok || !slices.ContainsFunc(values(want),
			func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(got) && (v == nil) == (got == nil) }) {
			return false
		}
	}
	return true
}

func values(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// Stage returns the stage with a name, or with an artifact of that file name. Its
// kind is Invalid.
func (p *Pipeline) Stage(name string) (*Stage, error) {
	for _, s := range p.Stages {
		if name == s.Name || s.Writes(name) {
			return s, nil
		}
	}
	return nil, handoff.E("stage", name, handoff.Invalid, errors.New("no such stage"),
		handoff.Advice("the stages are "+strings.Join(p.names(), ", ")))
}

// SameAgent reports whether two names are those of one agent.
func (p *Pipeline) SameAgent(a, b string) bool {
	return strings.TrimPrefix(a, p.AgentPrefix) == strings.TrimPrefix(b, p.AgentPrefix)
}

// IsAgent reports whether an agent is another one, or its variant for a tier.
func (p *Pipeline) IsAgent(want, agent string) bool {
	at := strings.LastIndexByte(agent, '-')
	return p.SameAgent(agent, want) || at >= 0 && slices.Contains(Tiers, agent[at+1:]) && p.SameAgent(agent[:at], want)
}

// Ancestors returns a stage and all that it needs, directly or not.
func (p *Pipeline) Ancestors(name string) map[string]bool {
	all := map[string]bool{name: true}
	for _, s := range slices.Backward(p.Stages) {
		for _, need := range s.Needs {
			if all[s.Name] {
				all[need] = true
			}
		}
	}
	return all
}

// Reads reports whether an agent that does a stage, "" for none, reads the artifact of
// another one. Without readers, those are the stages that need it, and those that its
// outcomes lead to.
func (p *Pipeline) Reads(stage, agent string, from *Stage) bool {
	if from.Readers != nil {
		return slices.Contains(from.Readers, agent)
	}
	return slices.ContainsFunc(p.Stages, func(s *Stage) bool {
		leads := func(r Route) bool { return r.To == s.Name }
		return s.Writer == agent && (stage == "" || stage == s.Name) &&
			(slices.Contains(s.Needs, from.Name) || slices.ContainsFunc(from.Routes, leads))
	})
}

func (p *Pipeline) names() []string {
	var names []string
	for _, s := range p.Stages {
		names = append(names, s.Name)
	}
	return names
}

// Files returns the file names of a stage's artifact, oldest attempt first.
func (s *Stage) Files() []string { return append(slices.Clone(s.Aliases), s.Artifact) }

// IsPattern reports whether the artifact of a stage is the set of files that match a
// pattern.
func (s *Stage) IsPattern() bool { return IsPattern(s.Artifact) }

// Writes reports whether a file of a run, by its path in the run's folder, is one of the
// stage.
func (s *Stage) Writes(file string) bool {
	reserved := []string{RunDefinition, StateFile, TraceFile}
	return slices.Contains(s.Files(), file) ||
		s.IsPattern() && !slices.Contains(reserved, file) && Glob(strings.Split(s.Artifact, "/"), strings.Split(file, "/"))
}

// Owns reports whether a file of a run is the newest artifact of a stage, or one of its
// files, and not an alias.
func (s *Stage) Owns(file string) bool {
	return file == s.Artifact || s.IsPattern() && s.Writes(file)
}

// Prefix returns the directory that all files of a pattern are in, with a final slash, ""
// if there is none.
func (s *Stage) Prefix() string {
	var prefix string
	for _, segment := range strings.SplitAfter(s.Artifact, "/") {
		if IsPattern(segment) || !strings.HasSuffix(segment, "/") {
			break
		}
		prefix += segment
	}
	return prefix
}

// IsJSON reports whether the artifact must be a JSON object.
func (s *Stage) IsJSON() bool { return s.schema != nil }

// Tiers are the tiers of models, lowest first.
var Tiers = []string{"fast", "standard", "high"}

// The reserved names.
const (
	Folder    = ".pipeline"    // the folder of all runs, relative to the workspace, unless a definition has another
	Human     = "human"        // the agent that is a person
	Completed = "completed"    // the folder of archived runs
	Lessons   = "lessons.yaml" // the lessons file, beside the runs
	StateFile = "state.yaml"   // the planner's notes, in a run's folder
	State     = "state"        // the name of the notes, like that of a stage
	TraceFile = "pipeline-trace.json"
)

// isPlain reports whether a word consists of letters, digits, dots, dashes and
// underscores and starts with a letter or digit.
func isPlain(word string) bool {
	for i, c := range []byte(word) {
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return word != ""
}

// isLocal reports whether a slash-separated path is relative and stays inside.
func isLocal(name string) bool { return filepath.IsLocal(filepath.FromSlash(name)) }
