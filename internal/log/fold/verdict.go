package fold

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/cmdline"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// verdicts are the verdicts with the codes of their notices, the weakest last.
var verdicts = []struct {
	verdict handoff.Verdict
	code    handoff.NoticeCode
}{
	{handoff.VerdictVerified, handoff.NoticeVerified}, {handoff.VerdictStale, handoff.NoticeClaimStale},
	{handoff.VerdictAsserted, handoff.NoticeAsserted},
	{handoff.VerdictContradicted, handoff.NoticeContradicted},
}

func weakness(v handoff.Verdict) int {
	for i, known := range verdicts {
		if known.verdict == v {
			return i
		}
	}
	return len(verdicts)
}

// Weakest returns the weakest of several verdicts, Asserted if there are none.
func Weakest(list []handoff.Verdict) handoff.Verdict {
	if len(list) == 0 {
		return handoff.VerdictAsserted
	}
	return slices.MaxFunc(list, func(a, b handoff.Verdict) int { return cmp.Compare(weakness(a), weakness(b)) })
}

// Recorded returns the verdict of an artifact's claims as far as the log shows it, and the
// reason. ok is false for an artifact without claims.
func Recorded(a handoff.Artifact) (verdict handoff.Verdict, reason string, ok bool) {
	if len(a.Claims) == 0 {
		return "", "", false
	}
	for _, n := range a.Notices() {
		for _, v := range verdicts {
			if v.code == n.Code {
				return v.verdict, n.Text, true
			}
		}
	}
	return handoff.VerdictAsserted, "", true
}

// A finding is what the log shows of one piece of evidence, or of a claim.
type finding struct {
	verdict handoff.Verdict
	text    string
	ref     string // an ID or a URI, "" for none
}

// claimed returns what the log shows of the claims of an artifact, or of the command that
// it attests. v is its view, whose texts may be shown. Threads, kept output and the
// working tree are not read; a check of the claims does that.
func claimed(s Store, a *ArtifactState, v handoff.Artifact) (*handoff.Notice, error) {
	p := a.Published
	if p.Attestation != nil {
		return ownAttestation(s, a, v)
	}
	if len(p.Claims) == 0 {
		return nil, nil
	}
	var worst finding
	same := 0
	for i, claim := range p.Claims {
		shown := handoff.Claim{Text: "…"}
		if i < len(v.Claims) {
			shown = v.Claims[i]
		}
		f, err := checkClaim(s, p.Tree, claim, shown)
		if err != nil {
			return nil, err
		}
		switch {
		case i == 0 || weakness(f.verdict) > weakness(worst.verdict):
			worst, same = f, 0
		case f.verdict == worst.verdict:
			same++
		}
	}
	if same > 0 {
		worst.text += fmt.Sprintf(", and %d more", same)
	}
	return worst.notice(verdicts[weakness(worst.verdict)].code), nil
}

func (f finding) notice(code handoff.NoticeCode) *handoff.Notice {
	n := handoff.NewNotice(code, f.text)
	if f.ref != "" {
		n.Refs = []string{f.ref}
	}
	return &n
}

// ownAttestation returns what an attestation states itself.
func ownAttestation(s Store, a *ArtifactState, v handoff.Artifact) (*handoff.Notice, error) {
	command := "the command"
	if v.Attestation != nil {
		command = short(cmdline.Join(v.Attestation.Argv))
	}
	at := attestedOf(a)
	if at.Failure != "" {
		return finding{text: command + " ended with " + at.Failure}.notice(handoff.NoticeAttestFailed), nil
	}
	var f finding
	switch {
	case a.Import != "":
		f = finding{verdict: handoff.VerdictAsserted, text: "was imported: another workspace attested it"}
	case a.Withdrawn:
		f = finding{verdict: handoff.VerdictAsserted, text: "was withdrawn"}
	default:
		var err error
		if f, err = judge(s, at, true, true); err != nil {
			return nil, err
		}
	}
	f.text, f.ref = command+" "+f.text, ""
	return f.notice(verdicts[weakness(f.verdict)].code), nil
}

// checkClaim checks a claim about a tree: the weakest of its evidence decides.
func checkClaim(s Store, tree *handoff.Tree, claim, shown handoff.Claim) (worst finding, err error) {
	worst = finding{verdict: handoff.VerdictAsserted, text: "without evidence"}
	for i, e := range claim.Evidence {
		f, err := checkEvidence(s, tree, e)
		if err != nil {
			return f, err
		}
		if i < len(shown.Evidence) && e.Kind == handoff.EvidenceCommand {
			f.text = short(shown.Evidence[i].Command) + " " + f.text
		}
		if i == 0 || weakness(f.verdict) > weakness(worst.verdict) {
			worst = f
		}
	}
	worst.text = fmt.Sprintf("claim %q: %s", short(shown.Text), worst.text)
	return worst, nil
}

func checkEvidence(s Store, tree *handoff.Tree, e handoff.Evidence) (finding, error) {
	switch e.Kind {
	case handoff.EvidenceCommand:
		return checkCommand(s, tree, e)
	case handoff.EvidenceArtifact:
		return checkArtifact(s, tree, e)
	}
	return checkCall(e), nil
}

// checkCommand checks a command: by the newest attestation on the tree of the claim,
// otherwise by the call that was recorded, otherwise by the newest on another tree.
func checkCommand(s Store, tree *handoff.Tree, e handoff.Evidence) (finding, error) {
	at, err := attestedOn(s, tree, e)
	switch {
	case err != nil:
		return finding{}, err
	case at != nil:
		return judge(s, *at, true, true)
	}
	f := checkCall(e)
	if f.verdict == handoff.VerdictContradicted {
		return f, nil
	}
	if at, err = newestAttested(s, evidenceKey(e)); err != nil || at == nil {
		return f, err
	}
	if at.Failure != "" && tree != nil {
		f.text, f.ref = "failed on another tree: "+at.Failure, at.ID
		return f, nil
	}
	return judge(s, *at, tree != nil, false)
}

// attestedOn returns the newest attestation of a command on the tree of a claim, nil if
// there is none.
func attestedOn(s Store, tree *handoff.Tree, e handoff.Evidence) (newest *attested, err error) {
	if e.Artifact != "" && tree != nil {
		named, err := s.Artifact(e.Artifact)
		if err != nil {
			return nil, err
		}
		if named.counts() && e.IsOnTree(named.ID) && SameCommand(named.Published.Attestation, e) {
			at := attestedOf(named)
			newest = &at
		}
	}
	for _, name := range treesOf(tree) {
		at, err := newestAttested(s, evidenceKey(e)+"\x00"+name)
		if err != nil {
			return nil, err
		}
		if at != nil && (newest == nil || at.Seq > newest.Seq) {
			newest = at
		}
	}
	return newest, nil
}

// checkArtifact checks an artifact: only an attestation is more than a claim.
func checkArtifact(s Store, tree *handoff.Tree, e handoff.Evidence) (finding, error) {
	a, err := s.Artifact(e.Artifact)
	f := finding{verdict: handoff.VerdictAsserted, ref: e.Artifact}
	switch {
	case err != nil:
		return f, err
	case !a.known():
		f.text = "the log has no artifact " + e.Artifact
	case a.Published.Attestation == nil:
		f.text = e.Artifact + " is not the output of an attested command"
	case a.Import != "":
		f.text = e.Artifact + " was imported: another workspace attested it"
	case !a.counts():
		f.text = e.Artifact + " was withdrawn"
	case e.Digest != a.Published.Digest.Value:
		f.verdict, f.text = handoff.VerdictContradicted, e.Artifact+" has another digest than the claim recorded"
	default:
		f, err = judge(s, attestedOf(a), tree != nil, e.IsOnTree(a.ID) || SameTree(a.Published, tree))
		f.text = e.Artifact + " " + f.text
	}
	return f, err
}

// checkCall returns what was recorded of a call or message in a thread.
func checkCall(e handoff.Evidence) finding {
	f := finding{handoff.VerdictAsserted, "was not attested", e.Thread}
	switch {
	case e.Thread == "":
	case e.ExitStatus != nil && *e.ExitStatus != 0:
		f.verdict, f.text = handoff.VerdictContradicted, fmt.Sprintf("ended with exit status %d in %s", *e.ExitStatus,
			e.Thread)
	case e.Failed:
		f.verdict, f.text = handoff.VerdictContradicted, "failed in "+e.Thread
	default:
		f.text = "was not attested; its call is in " + e.Thread
	}
	return f
}

// judge returns what an attestation shows of a claim: one whose tree is known, and is the
// same.
func judge(s Store, at attested, known, same bool) (finding, error) {
	if at.Failure != "" {
		return finding{handoff.VerdictContradicted, "ended with " + at.Failure, at.ID}, nil
	}
	redacted, err := isRedacted(s, at)
	switch {
	case err != nil:
		return finding{}, err
	case redacted:
		return finding{handoff.VerdictAsserted, "succeeded, and its output was redacted, because it had a secret",
			at.ID}, nil
	case at.Tree == "" || !known:
		return finding{handoff.VerdictAsserted, "succeeded, but the tree was not recorded", at.ID}, nil
	case at.Changed:
		return finding{handoff.VerdictStale, "succeeded, but changed the tree", at.ID}, nil
	case !same:
		return finding{handoff.VerdictStale, "was attested on another tree", at.ID}, nil
	}
	return finding{handoff.VerdictVerified, "succeeded on this tree", at.ID}, nil
}

// isRedacted reports whether the output of an attestation may not be read.
func isRedacted(s Store, at attested) (bool, error) {
	list, err := s.Pointer(RedactedSpace, "")
	if err != nil || list == "" {
		return false, err
	}
	value, err := s.Pointer(RedactedSpace, bodyKey(at.ID, at.Body, ""))
	return value != "", err
}

// maxShort is how many characters of a claim or command a notice has.
const maxShort = 120

// short returns a text on one line, cut.
func short(text string) string {
	text = printable.OneLine(text)
	if utf8.RuneCountInString(text) > maxShort {
		text = string([]rune(text)[:maxShort-1]) + "…"
	}
	return text
}
