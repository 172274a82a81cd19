package fold

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
)

// attestedSpace is the space of pointers to the newest attestation that counts of a
// command in a directory: on any tree by the key of the command, and on a tree by both.
// With the ID of an attestation after it, a key is of the attestation before that.
const attestedSpace = "attested"

// An attested is what checks need of an attestation.
type attested struct {
	ID      string         `json:"id"`
	Seq     handoff.Seq    `json:"seq"`
	Failure string         `json:"failure,omitempty"` // how the command ended, unless it succeeded
	Tree    string         `json:"tree,omitempty"`    // see treeOf
	Changed bool           `json:"changed,omitempty"` // it changed the tree
	Body    handoff.Digest `json:"body,omitzero"`     // its output
}

func attestedOf(a *ArtifactState) attested {
	p := a.Published
	at := attested{ID: a.ID, Seq: a.Record.Seq, Tree: treeOf(p), Changed: p.Attestation.TreeAfter != "", Body: p.Digest}
	if !p.Attestation.Succeeded() {
		at.Failure = p.Attestation.Ending()
	}
	return at
}

// counts reports whether an artifact is evidence: an attestation that was not imported
// and, if its command succeeded, not withdrawn.
func (a *ArtifactState) counts() bool {
	return a.known() && a.Published.Attestation != nil && a.Record.Import == "" &&
		(!a.Withdrawn || !a.Published.Attestation.Succeeded())
}

// SameCommand reports whether an attestation is of the command of evidence, in the same
// directory.
func SameCommand(at *handoff.Attestation, e handoff.Evidence) bool {
	return attestedKey(at) == evidenceKey(e)
}

// CommandOf returns what identifies the command of an attestation and its directory.
func CommandOf(at *handoff.Attestation) string { return attestedKey(at) }

// attestedKey and evidenceKey return the same key for the same command in the same
// directory. If it has secrets, its digest was recorded.
func attestedKey(at *handoff.Attestation) string {
	return cmp.Or(at.ArgvDigest, cmdline.Digest(at.Argv)) + "\x00" + at.Dir
}

func evidenceKey(e handoff.Evidence) string {
	return cmp.Or(e.CommandDigest, cmdline.LineDigest(e.Command)) + "\x00" + e.Dir
}

// SameTree reports whether an attestation is of the tree of a claim: the one without the
// artifact, or with it, or its commit.
func SameTree(attestation *handoff.ArtifactPublished, claimed *handoff.Tree) bool {
	tree := treeOf(attestation)
	return tree != "" && slices.Contains(treesOf(claimed), tree)
}

// treeOf returns the digest of the tree of an attestation, or its commit, "" if it is not
// known.
func treeOf(p *handoff.ArtifactPublished) string {
	switch {
	case p.Tree == nil:
		return ""
	case p.Attestation.OfCommit:
		return "commit " + p.Tree.Commit
	}
	return p.Tree.Digest
}

// treesOf returns what treeOf may be of attestations of the tree of a claim.
func treesOf(t *handoff.Tree) (trees []string) {
	if t == nil {
		return nil
	}
	for _, digest := range []string{t.Digest, t.Whole} {
		if digest != "" {
			trees = append(trees, digest)
		}
	}
	if t.Clean && t.Commit != "" {
		trees = append(trees, "commit "+t.Commit)
	}
	return trees
}

// pointersOf returns the keys of the pointers to an attestation.
func pointersOf(p *handoff.ArtifactPublished) []string {
	keys := []string{attestedKey(p.Attestation)}
	if tree := treeOf(p); tree != "" {
		keys = append(keys, keys[0]+"\x00"+tree)
	}
	return keys
}

// foldAttested makes an attestation the newest one of its command.
func foldAttested(k Keeper, a *ArtifactState) error {
	if !a.counts() {
		return nil
	}
	b, err := handoff.EncodeJSON(attestedOf(a))
	if err != nil {
		return err
	}
	for _, key := range pointersOf(a.Published) {
		before, err := k.Pointer(attestedSpace, key)
		if err != nil {
			return err
		}
		if before != "" {
			if err := k.PutPointer(attestedSpace, key+"\x00"+a.ID, before); err != nil {
				return err
			}
		}
		if err := k.PutPointer(attestedSpace, key, string(b)); err != nil {
			return err
		}
	}
	return nil
}

// foldUnattested makes the one before it the newest of its command, if an attestation was
// withdrawn that was the newest and does not count any more.
func foldUnattested(k Keeper, a *ArtifactState) error {
	if a.Published.Attestation == nil || a.counts() {
		return nil
	}
	for _, key := range pointersOf(a.Published) {
		text, err := k.Pointer(attestedSpace, key)
		if err != nil {
			return err
		}
		was := text
		for text != "" {
			at, err := decodeAttested(text)
			if err != nil {
				return err
			}
			b, err := k.State(at.ID)
			if err != nil {
				return err
			}
			if b != nil && !(b.Withdrawn && at.Failure == "") {
				break
			}
			if text, err = k.Pointer(attestedSpace, key+"\x00"+at.ID); err != nil {
				return err
			}
		}
		if text != was {
			if err := k.PutPointer(attestedSpace, key, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func decodeAttested(text string) (at attested, err error) {
	err = json.Unmarshal([]byte(text), &at)
	return at, err
}

// newestAttested returns the attestation that a pointer is to, nil for none.
func newestAttested(s Store, key string) (*attested, error) {
	text, err := s.Pointer(attestedSpace, key)
	if err != nil || text == "" {
		return nil, err
	}
	at, err := decodeAttested(text)
	return &at, err
}

// IsClaimed reports whether an artifact has claims or is an attestation.
func IsClaimed(p *handoff.ArtifactPublished) bool { return p.Attestation != nil || len(p.Claims) > 0 }

// EvidenceOf returns what the check of the claims of an artifact asks for: the IDs of
// artifacts, and the keys of pointers.
func EvidenceOf(p *handoff.ArtifactPublished) (ids, pointers []string) {
	for _, claim := range p.Claims {
		for _, e := range claim.Evidence {
			if e.Artifact != "" {
				ids = append(ids, e.Artifact)
			}
			if e.Kind != handoff.EvidenceCommand {
				continue
			}
			key := evidenceKey(e)
			pointers = append(pointers, key)
			for _, tree := range treesOf(p.Tree) {
				pointers = append(pointers, key+"\x00"+tree)
			}
		}
	}
	return ids, pointers
}
