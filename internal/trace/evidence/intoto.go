package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/trace"
)

// The types of in-toto, and the name of the digest of a tree in a subject.
const (
	statementType  = "https://in-toto.io/Statement/v1"
	testResultType = "https://in-toto.io/attestation/test-result/v0.1"
	treeAlgorithm  = "handoffTree"
)

// maxContent is the size up to which a Descriptor contains the arguments.
const maxContent = 1 << 10

// InToto returns an attestation as a Statement. Its subject is the tree; clean reports
// whether a commit has exactly that tree, and is then part of the subject. Its kind is
// Invalid: a is not an attestation, or of no tree.
func InToto(a handoff.Artifact, clean func(tree handoff.Tree) bool) (trace.Statement, error) {
	at := a.Attestation
	switch {
	case at == nil:
		return trace.Statement{}, handoff.E("export", a.ID, handoff.Invalid, errors.New("not an attestation"),
			handoff.Suggest("see which attestation a claim refers to", handoff.ActionVerify, a.ID))
	case a.Tree == nil:
		return trace.Statement{}, handoff.E("export", a.ID, handoff.Invalid,
			errors.New("its record does not name a tree, which an in-toto statement requires"),
			handoff.Advice("attest the command in a git repository"))
	}
	subject := trace.Descriptor{Name: "worktree", Digest: map[string]string{treeAlgorithm: a.Tree.Digest}}
	if a.Tree.Commit != "" {
		subject.Annotations = map[string]any{"commit": a.Tree.Commit}
		if at.TreeAfter == "" && clean(*a.Tree) {
			subject.Digest["gitCommit"] = a.Tree.Commit
		}
	}
	argv, err := json.Marshal(at.Argv)
	if err != nil {
		return trace.Statement{}, err
	}
	command := trace.Descriptor{Name: "command", Digest: map[string]string{"sha256": sum(argv)},
		MediaType: "application/json",
		Annotations: map[string]any{
			"artifact": a.ID, "dir": "./" + at.Dir, "exitStatus": at.ExitStatus,
			"startedAt": at.StartedAt.Format(time.RFC3339Nano), "durationMs": at.DurationMS,
			"output": map[string]string{a.Digest.Algorithm: a.Digest.Value},
		}}
	if len(argv) <= maxContent {
		command.Content = argv
	}
	for name, value := range map[string]string{"signal": at.Signal, "treeAfter": at.TreeAfter} {
		if value != "" {
			command.Annotations[name] = value
		}
	}
	p := trace.TestResult{Configuration: []trace.Descriptor{command}}
	switch tests := []string{cmdline.Join(at.Argv)}; {
	case !at.Succeeded():
		p.Result, p.FailedTests = "FAILED", tests
	case at.TreeAfter != "":
		p.Result, p.WarnedTests = "WARNED", tests
	default:
		p.Result, p.PassedTests = "PASSED", tests
	}
	return trace.Statement{Type: statementType, Subject: []trace.Descriptor{subject}, PredicateType: testResultType,
		Predicate: p}, nil
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

// IsClean reports whether the commit that HEAD named has exactly the files of a tree.
// It is false if the commit is not known here.
func (t Trees) IsClean(ctx context.Context, dir string, tree handoff.Tree) bool {
	w, err := t.open(ctx, dir)
	if err != nil {
		return false
	}
	defer w.root.Close()
	files, err := w.commitFiles(ctx, tree.Commit)
	return err == nil && files.digest() == tree.Digest
}
