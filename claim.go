package handoff

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// A Claim is a statement about an artifact, with the evidence that its publisher
// names.
type Claim struct {
	Text     string     `json:"text"` // one line of at most MaxSummary characters
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is what a claim is checked against. Its fields after Kind identify a
// command, a message or an artifact, with the result when the claim was published.
type Evidence struct {
	Kind    string `json:"kind"`              // EvidenceCommand, EvidenceThread or EvidenceArtifact
	Command string `json:"command,omitempty"` // as in a shell, with secrets replaced
	// of the command, slash-separated, relative to the workspace, "" for its root
	Dir        string `json:"dir,omitempty"`
	Thread     string `json:"thread,omitempty"`     // URI of the message that has the call
	Call       string `json:"call,omitempty"`       // ID of the call
	Artifact   string `json:"artifact,omitempty"`   // ID of the artifact, or of the attestation of the command
	ExitStatus *int   `json:"exitStatus,omitempty"` // nil if it was not known
	Digest     string `json:"digest,omitempty"`     // SHA-256 of the output or of the artifact, in hexadecimal

	// SHA-256 of the command with its secrets, if it has any; see docs/format.md
	CommandDigest string `json:"commandDigest,omitempty"`

	Failed bool `json:"failed,omitempty"` // the call failed, though it may have no exit status
	OnTree bool `json:"onTree,omitempty"` // Artifact is an attestation of the tree of the claim
}

// IsOnTree reports whether the record states that an attestation is of the tree of the
// claim.
func (e Evidence) IsOnTree(attestation string) bool {
	return e.Artifact != "" && e.Artifact == attestation && e.OnTree
}

// The kinds of evidence.
const (
	EvidenceCommand  = "command"
	EvidenceThread   = "thread"
	EvidenceArtifact = "artifact"
)

// An Attestation states how a command ended that handoff itself ran. The artifact
// that has it is the output of the command.
type Attestation struct {
	Argv []string `json:"argv"` // with secrets replaced
	// SHA-256 of the arguments with their secrets, if they have any; see docs/format.md
	ArgvDigest string    `json:"argvDigest,omitempty"`
	Dir        string    `json:"dir,omitempty"`    // slash-separated, relative to the workspace, "" for its root
	ExitStatus int       `json:"exitStatus"`       // 128+n if signal n ended it
	Signal     string    `json:"signal,omitempty"` // that ended it, or that handoff was asked to end with
	StartedAt  time.Time `json:"startedAt"`
	DurationMS int64     `json:"durationMs"`
	TreeAfter  string    `json:"treeAfter,omitempty"` // digest of the tree that the command left, if it changed the tree

	// It is of the commit: no tracked file differed from it, before and after the command,
	// and untracked ones are not part of the tree.
	OfCommit  bool `json:"ofCommit,omitempty"`
	Untracked int  `json:"untracked,omitempty"` // with OfCommit: how many untracked files were present
}

// A Tree identifies the content of a git worktree: the files that git tracks and
// the untracked ones that it does not ignore, without those of handoff.
type Tree struct {
	Digest   string `json:"digest"`             // SHA-256, in hexadecimal; see docs/format.md
	Commit   string `json:"commit,omitempty"`   // that HEAD named
	Worktree string `json:"worktree,omitempty"` // the name of the linked worktree, "" for the main one
	Clean    bool   `json:"clean,omitempty"`    // the tracked files were those of Commit
	// of a claim: the digest of the tree together with the artifact, which Digest leaves out
	Whole string `json:"whole,omitempty"`
	// of an attestation: SHA-256 of a kept body that lists the files that differ from Commit;
	// see docs/format.md
	Changes string `json:"changes,omitempty"`
}

// Succeeded reports whether the command ended by itself with exit status 0.
func (at *Attestation) Succeeded() bool { return at.ExitStatus == 0 && at.Signal == "" }

// Ending returns how the command ended.
func (at *Attestation) Ending() string {
	if at.Signal != "" {
		return "signal " + strings.TrimSpace(at.Signal)
	}
	return fmt.Sprintf("exit status %d", at.ExitStatus)
}

const (
	maxClaims  = 20
	maxCommand = 4096
	maxArgv    = 64 << 10 // bytes
)

// checkEvidence returns an error of kind Invalid unless the claims and the
// attestation can be recorded.
func (p *ArtifactPublished) checkEvidence() error {
	refuse := func(op, hint, format string, args ...any) error {
		return E(op, "", Invalid, fmt.Errorf(format, args...), Advice(hint))
	}
	if len(p.Claims) > maxClaims {
		return refuse("claim", "publish several artifacts", "%d claims, more than %d", len(p.Claims), maxClaims)
	}
	for _, c := range p.Claims {
		if c.Text == "" || len(c.Evidence) > maxClaims {
			return refuse("claim", "write a sentence with its evidence",
				"has no text, or more than %d pieces of evidence", maxClaims)
		}
		if err := checkText("claim", c.Text, MaxSummary); err != nil {
			return err
		}
		for _, e := range c.Evidence {
			for _, text := range []string{e.Kind, e.Command, e.Dir, e.Thread, e.Call, e.Artifact, e.Digest} {
				if err := checkText("evidence", text, maxCommand); err != nil {
					return err
				}
			}
		}
	}
	if p.Attestation == nil {
		return nil
	}
	argv := strings.Join(p.Attestation.Argv, " ")
	if argv == "" || len(argv) > maxArgv || strings.ContainsRune(argv, 0) || !utf8.ValidString(argv) {
		return E("attest", "", Invalid,
			errors.New("the arguments are empty, have more than 64 KiB or contain a NUL or "+
				"invalid UTF-8"), Advice("put the command into a script"))
	}
	return nil
}
