// Package contract defines pipelines and validates the artifacts of their
// stages.
//
// A [Pipeline] is data: the stages in their order, the agents that write and
// read each artifact, the next stage for each outcome, and one JSON Schema
// (2020-12) per artifact. The built-in pipeline is embedded. Projects add and
// change stages with YAML and JSON Schema files. How artifacts relate to each
// other is the subject of package pipeline.
package contract

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/jsonschema"
)

// A Pipeline is a list of stages from an issue to a merge.
type Pipeline struct {
	// SelfAssessment is Required if every artifact must contain one.
	SelfAssessment Requirement

	// Planner is the agent that reads every artifact and the lessons, and writes
	// state.yaml.
	Planner string

	Stages []*Stage // in order
}

// A Requirement is "optional" or "required".
type Requirement string

const (
	Optional Requirement = "optional"
	Required Requirement = "required"
)

// A Stage is one step of a pipeline. Its name is also its channel.
type Stage struct {
	Name     string   `yaml:"name"`
	Purpose  string   `yaml:"purpose"`
	Artifact string   `yaml:"artifact"` // the file in the run's folder
	Aliases  []string `yaml:"aliases"`  // other names of that file, oldest attempt first
	Writer   string   `yaml:"writer"`   // the one agent that writes it
	Readers  []string `yaml:"readers"`  // the agents that read it
	Retries  int      `yaml:"retries"`  // the number of retries before a person is asked
	Optional bool     `yaml:"optional"` // the run goes on without it
	Detour   bool     `yaml:"detour"`   // entered by a route only
	Skip     string   `yaml:"skip"`     // the complexity of issues that do not need it
	Routes   []Route  `yaml:"routes"`
	Checks   []Check  `yaml:"checks"` // what its gate checks beside the contract
	Requires []Need   `yaml:"requires"`
	Gate     Gate     `yaml:"gate"`

	after    string // the stage that a project's stage was inserted after
	schema   func() *jsonschema.Schema
	document func() (map[string]any, error) // the schema with all that it refers to
	common   func() *jsonschema.Schema      // the fields of every artifact
	assess   bool
}

// A Gate is what the gate of a stage needs before the run goes on to other stages.
type Gate struct {
	// Approved are the relations of reviewers of whom one must have approved exactly the bytes of
	// the artifact; empty for those that count by default, nil for no approval.
	Approved []handoff.Relation `yaml:"approved"`
}

func (g Gate) check() error {
	for _, r := range g.Approved {
		if !slices.Contains([]handoff.Relation{handoff.RelationHuman, handoff.RelationOther, handoff.RelationLead}, r) {
			return fmt.Errorf("gate: approved by %q is none of human, other and lead", r)
		}
	}
	return nil
}

// A Need is a command that must be verified for the gate of a stage: handoff attested it
// on the files as they are when the gate checks. Another command does not count.
type Need struct {
	Verified []string `yaml:"verified"` // its arguments
	Dir      string   `yaml:"dir"`      // slash-separated, relative to the workspace; "" for its root
}

func (n Need) check() error {
	if len(n.Verified) == 0 || n.Verified[0] == "" {
		return errors.New("requires must name the arguments of a command (verified)")
	}
	if n.Dir != "" && !filepath.IsLocal(filepath.FromSlash(n.Dir)) {
		return fmt.Errorf("requires: directory %q leaves the workspace", n.Dir)
	}
	return nil
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
}

// Matches reports whether an artifact has the value of every field of the route.
func (r Route) Matches(artifact map[string]any) bool {
	for field, want := range r.When {
		got, ok := artifact[field]
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
		if name == s.Name || name == s.Artifact || slices.Contains(s.Aliases, name) {
			return s, nil
		}
	}
	return nil, handoff.E("stage", name, handoff.Invalid, errors.New("no such stage"),
		handoff.Advice("the stages are "+strings.Join(p.names(), ", ")))
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

// Tiers are the tiers of models, lowest first.
var Tiers = []string{"fast", "standard", "high"}

// The reserved names.
const (
	Folder    = ".pipeline"    // the folder of all runs, relative to the workspace
	Human     = "human"        // the agent that is a person
	Completed = "completed"    // the folder of archived runs
	Lessons   = "lessons.yaml" // the lessons file, beside the runs
	StateFile = "state.yaml"   // the planner's notes, in a run's folder
	State     = "state"        // the name of the notes, like that of a stage
	TraceFile = "pipeline-trace.json"
)

// maxFileName is the maximum length of the name of an artifact, in bytes.
const maxFileName = 100

func isFileName(name string) bool {
	base, ok := strings.CutSuffix(name, ".json")
	return ok && len(name) <= maxFileName && isPlain(base) && name != TraceFile
}

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

// check returns the first mistake in a pipeline.
func (p *Pipeline) check() error {
	if p.SelfAssessment != Optional && p.SelfAssessment != Required {
		return fmt.Errorf("self_assessment is %q, must be optional or required", p.SelfAssessment)
	}
	owner := map[string]string{}
	for _, s := range p.Stages {
		if err := s.check(p.names()); err != nil {
			return fmt.Errorf("stage %s: %w", s.Name, err)
		}
		for _, file := range s.Files() {
			if other, taken := owner[file]; taken {
				return fmt.Errorf("stages %s and %s both write %s", other, s.Name, file)
			}
			owner[file] = s.Name
		}
	}
	return nil
}

func (s *Stage) check(stages []string) error {
	if err := handoff.CheckChannel(s.Name); err != nil {
		return err
	}
	for _, file := range s.Files() {
		if !isFileName(file) {
			return fmt.Errorf(`invalid artifact name %q; it may contain letters, digits, ".", "-" and "_" and must end in .json`,
				file)
		}
	}
	switch {
	case s.Writer == "":
		return errors.New("has no writer")
	case s.Retries < 0:
		return fmt.Errorf("retries is %d", s.Retries)
	case s.schema == nil:
		return errors.New("has no schema")
	}
	for _, c := range s.Checks {
		if !slices.Contains(checks, c) {
			return fmt.Errorf("unknown check %q (use %v)", c, checks)
		}
	}
	if err := s.Gate.check(); err != nil {
		return err
	}
	for _, n := range s.Requires {
		if err := n.check(); err != nil {
			return err
		}
	}
	for i, r := range s.Routes {
		if (r.To == "") == (r.Ask == "") {
			return fmt.Errorf("route %d must have either a stage (to) or an agent (ask)", i+1)
		}
		if r.To != "" && !slices.Contains(stages, r.To) {
			return fmt.Errorf("route %d leads to unknown stage %s", i+1, r.To)
		}
		if len(r.When) == 0 {
			return fmt.Errorf("route %d has no condition (when)", i+1)
		}
	}
	return nil
}
