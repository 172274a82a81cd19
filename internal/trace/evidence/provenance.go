package evidence

import (
	"errors"
	"net/url"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/trace"
)

// The type of the predicate, and what it names as the kind of the build.
const (
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = "https://github.com/agent-handoff/handoff/blob/main/docs/evidence.md#provenance"
)

// Provenance returns where an artifact comes from as a Statement with the predicate SLSA
// Provenance v1: its inputs, its producer and the attestations that its claims refer to.
// Its kind is Invalid: the artifact has no digest.
func Provenance(a handoff.Artifact, inputs, attestations []handoff.Artifact) (trace.Statement, error) {
	if a.Digest.Value == "" {
		return trace.Statement{}, handoff.E("export", a.ID, handoff.Invalid,
			errors.New("its record has no digest, which an in-toto statement requires"),
			handoff.Advice("publish it with a kept copy"))
	}
	p := trace.Provenance{BuildDefinition: trace.BuildDefinition{BuildType: buildType,
		ExternalParameters: map[string]string{"artifact": a.ID, "channel": a.Channel}}}
	for name, value := range map[string]string{"kind": a.Kind, "name": a.Name, "session": a.Producer.Session,
		"run": a.Producer.RunID, "task": a.Producer.TaskID, "agent": a.Producer.Agent, "program": a.Producer.Harness,
		"model": strings.TrimPrefix(a.Producer.Model.Provider+"/"+a.Producer.Model.ID, "/")} {
		if value != "" {
			p.BuildDefinition.ExternalParameters[name] = value
		}
	}
	for _, in := range inputs {
		p.BuildDefinition.ResolvedDependencies = append(p.BuildDefinition.ResolvedDependencies, described(in))
	}
	if a.Tree != nil {
		tree := trace.Descriptor{Name: "worktree", Digest: map[string]string{treeAlgorithm: a.Tree.Digest}}
		if a.Tree.Commit != "" {
			tree.Annotations = map[string]any{"commit": a.Tree.Commit}
		}
		p.BuildDefinition.ResolvedDependencies = append(p.BuildDefinition.ResolvedDependencies, tree)
	}
	p.RunDetails.Builder.ID = "urn:handoff:producer:" + url.PathEscape(a.Producer.Harness) + ":" +
		url.PathEscape(a.Producer.Agent)
	p.RunDetails.Metadata = trace.RunMetadata{InvocationID: a.Producer.Thread, FinishedOn: a.CreatedAt}
	if p.RunDetails.Metadata.InvocationID == "" {
		p.RunDetails.Metadata.InvocationID = a.Producer.Session
	}
	for _, at := range attestations {
		d := described(at)
		d.Annotations["command"], d.Annotations["exitStatus"] = cmdline.Join(at.Attestation.Argv), at.Attestation.ExitStatus
		p.RunDetails.Byproducts = append(p.RunDetails.Byproducts, d)
	}
	subject := trace.Descriptor{Name: a.Path, Digest: map[string]string{a.Digest.Algorithm: a.Digest.Value}}
	return trace.Statement{Type: statementType, Subject: []trace.Descriptor{subject}, PredicateType: provenanceType,
		Predicate: p}, nil
}

// described returns an artifact as a descriptor, without texts of its author.
func described(a handoff.Artifact) trace.Descriptor {
	d := trace.Descriptor{Name: a.Path, URI: "urn:handoff:artifact:" + a.ID,
		Annotations: map[string]any{"channel": a.Channel, "status": string(a.Status)}}
	if a.Digest.Value != "" {
		d.Digest = map[string]string{a.Digest.Algorithm: a.Digest.Value}
	}
	return d
}
