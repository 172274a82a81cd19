// Package contract says what the artifact of each stage of a pipeline must look
// like.
//
// A [Pipeline] is data: stages in the order in which they are dispatched, who
// writes and who reads each one's artifact, where each outcome leads, and one
// JSON Schema (2020-12) per artifact. The built-in pipeline is embedded;
// projects add stages and replace their parts with YAML and JSON Schema, and no
// code. What a stage's artifacts mean together is package pipeline's.
package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/jsonschema"
)

// A Pipeline is the stages that lead from an issue to a merge.
type Pipeline struct {
	// SelfAssessment says whether every artifact must hold one.
	SelfAssessment Need

	// Stages are in the order in which they are dispatched.
	Stages []*Stage
}

// A Need is "optional" or "required".
type Need string

const (
	Optional Need = "optional"
	Required Need = "required"
)

// A Stage is one step of a pipeline. Its name is also its channel.
type Stage struct {
	Name     string   `yaml:"name"`
	Purpose  string   `yaml:"purpose"`
	Artifact string   `yaml:"artifact"` // the file in the run's folder
	Aliases  []string `yaml:"aliases"`  // other names of that file, the oldest attempt first
	Writer   string   `yaml:"writer"`   // the one agent that writes it
	Readers  []string `yaml:"readers"`  // the agents that read it
	Retries  int      `yaml:"retries"`  // how often it may be done again before a person is asked
	Optional bool     `yaml:"optional"` // its absence stops nobody
	Detour   bool     `yaml:"detour"`   // entered by a route only
	Skip     string   `yaml:"skip"`     // the complexity of issues that need it not
	Routes   []Route  `yaml:"routes"`

	after  string // where a project's stage was put
	schema func() *jsonschema.Schema
	assess bool
}

// A Route says where an outcome leads: to a stage, or to an agent that writes
// none. The first route of a stage that matches counts.
type Route struct {
	When     map[string]any `yaml:"when"` // the artifact's fields; a list holds several values that match
	To       string         `yaml:"to"`
	Ask      string         `yaml:"ask"`
	Escalate bool           `yaml:"escalate"` // to the next tier, which is no retry
	Reason   string         `yaml:"reason"`
}

// Matches reports whether an artifact has every field of the route.
func (r Route) Matches(artifact map[string]any) bool {
	for field, want := range r.When {
		got, ok := artifact[field]
		if !ok || !slices.ContainsFunc(values(want), func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(got) && (v == nil) == (got == nil) }) {
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

// Stage returns the stage of a name, which is the stage's own or that of a file
// that holds its artifact. Its kind is Invalid.
func (p *Pipeline) Stage(name string) (*Stage, error) {
	for _, s := range p.Stages {
		if name == s.Name || name == s.Artifact || slices.Contains(s.Aliases, name) {
			return s, nil
		}
	}
	return nil, &handoff.Error{Op: "stage", Name: name, Kind: handoff.Invalid, Err: errors.New("no such stage"),
		Hint: handoff.Advice("the stages are " + strings.Join(p.names(), ", "))}
}

func (p *Pipeline) names() []string {
	var names []string
	for _, s := range p.Stages {
		names = append(names, s.Name)
	}
	return names
}

// Files are the names under which a stage's artifact may lie, oldest attempt
// first.
func (s *Stage) Files() []string { return append(slices.Clone(s.Aliases), s.Artifact) }

// The words that no stage, agent or issue may take.
const (
	Human     = "human"        // the agent that is a person
	Completed = "completed"    // the folder of archived runs
	Lessons   = "lessons.yaml" // the file of lessons, beside the runs
	StateFile = "state.yaml"   // the planner's own notes, in a run's folder
	TraceFile = "pipeline-trace.json"
)

// maxFileName is the length of the longest name of an artifact, in bytes.
const maxFileName = 100

func isFileName(name string) bool {
	base, ok := strings.CutSuffix(name, ".json")
	return ok && len(name) <= maxFileName && isPlain(base) && name != TraceFile
}

// isPlain reports whether a word is letters, digits, dots, dashes and
// underscores, a letter or digit first.
func isPlain(word string) bool {
	for i, c := range []byte(word) {
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && (i == 0 || c != '.' && c != '-' && c != '_') {
			return false
		}
	}
	return word != ""
}

// check finds what makes a pipeline no pipeline.
func (p *Pipeline) check() error {
	if p.SelfAssessment != Optional && p.SelfAssessment != Required {
		return fmt.Errorf("self_assessment is %q; it is optional or required", p.SelfAssessment)
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
			return fmt.Errorf("%q can't be an artifact; a name has letters, digits, dots and dashes and ends in .json", file)
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
	for i, r := range s.Routes {
		if (r.To == "") == (r.Ask == "") {
			return fmt.Errorf("route %d leads to one stage (to) or one agent (ask)", i+1)
		}
		if r.To != "" && !slices.Contains(stages, r.To) {
			return fmt.Errorf("route %d leads to stage %s, which there is not", i+1, r.To)
		}
		if len(r.When) == 0 {
			return fmt.Errorf("route %d says not when", i+1)
		}
	}
	return nil
}
