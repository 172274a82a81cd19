package gate

import (
	"github.com/agent-handoff/handoff/internal/pipeline/contract"
	"github.com/agent-handoff/handoff/pipeline"
)

// Artifacts are the artifacts of one run.
type Artifacts struct {
	Outputs map[string]Output // by stage

	// Complexity is the complexity of the issue according to its plan or its
	// state.yaml: trivial, standard, complex, or "".
	Complexity string
}

// An Output is one stage's artifact in the folder.
type Output struct {
	File   string
	Files  map[string]string // the digests of its files, by their names; nil unless the stage has a pattern
	Digest string            // SHA-256 in hexadecimal, "" if the file can't be read; see DigestOf for several
	Report pipeline.Report

	// Accepted says that the artifact was recorded as it is: what its gate finds in
	// it is a warning.
	Accepted bool
}

// Unusable returns why an output is not an artifact: it can't be read, or is not a JSON
// object.
func (o Output) Unusable() string {
	if len(o.Report.Errors) == 0 {
		return "is not an object"
	}
	return o.Report.Errors[0].Text
}

// Checked returns the last stage with a check that has an artifact, and the
// artifact. If none has one, it is the first stage with the check, or nil.
func (a Artifacts) Checked(p *contract.Pipeline, c contract.Check) (stage *contract.Stage, artifact map[string]any) {
	for _, st := range p.Stages {
		if v := a.Outputs[st.Name].Report.Value; st.Has(c) && (stage == nil || v != nil) {
			stage, artifact = st, v
		}
	}
	return stage, artifact
}

// outcomes returns the outcomes of the stages with a check, "" for a missing one.
// An optional stage may be missing if another one is there.
func (a Artifacts) outcomes(p *contract.Pipeline, c contract.Check) []string {
	var list []string
	for _, stage := range p.Stages {
		if out, ok := a.Outputs[stage.Name]; stage.Has(c) && (ok || !stage.Optional && !stage.Detour) {
			list = append(list, contract.Outcome(out.Report.Value))
		}
	}
	if stage, _ := a.Checked(p, c); stage != nil && len(list) == 0 {
		return []string{""}
	}
	return list
}
