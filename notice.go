package handoff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/order"
)

// A Notice is what somebody should know before they rely on an artifact, a session, a
// stage or a thread. Every surface shows the same ones.
type Notice struct {
	Code     NoticeCode `json:"code"`
	Severity Severity   `json:"severity"`
	Text     string     `json:"text"`           // a phrase, on one line
	Refs     []string   `json:"refs,omitempty"` // IDs, or URIs of threads, that it is about
}

// A Severity is how much a notice matters.
type Severity string

// The severities, the worst first.
const (
	SeverityProblem Severity = "problem"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
	SeverityOK      Severity = "ok"
)

// A NoticeCode says what a notice is about.
type NoticeCode string

// The codes of notices of artifacts. All but NoticeModified, NoticeFileMissing and
// NoticeQueued follow from the log alone.
const (
	NoticeContradicted     NoticeCode = "contradicted"      // a claim, by its evidence
	NoticeAttestFailed     NoticeCode = "attest_failed"     // the attested command failed
	NoticeChangesRequested NoticeCode = "changes_requested" // by a reviewer

	NoticeWithdrawn   NoticeCode = "withdrawn"
	NoticeSuperseded  NoticeCode = "superseded"
	NoticeCompeting   NoticeCode = "competing"    // another artifact replaces the same one
	NoticeStale       NoticeCode = "stale"        // an input was replaced or withdrawn since
	NoticeClaimStale  NoticeCode = "claim_stale"  // attested on another tree than that of the publication
	NoticeReviewAsked NoticeCode = "review_asked" // nobody decided yet, about this revision
	NoticeLate        NoticeCode = "late"         // published after the end of its run, session or work
	NoticeModified    NoticeCode = "modified"     // the file, since it was published
	NoticeFileMissing NoticeCode = "file_missing" // the file, and what was published can't be had elsewhere

	NoticeAsserted NoticeCode = "asserted" // a claim that nothing but its publisher shows
	NoticeNotKept  NoticeCode = "not_kept" // only the file has the content
	NoticeQueued   NoticeCode = "queued"   // on this machine only, until its log can be reached

	NoticeCommented NoticeCode = "commented" // comments are open
	NoticeReviewed  NoticeCode = "reviewed"  // by somebody whose decision does not count
	NoticeAccepted  NoticeCode = "accepted"  // it was chosen over others

	NoticeApproved NoticeCode = "approved" // by a reviewer, these bytes
	NoticeVerified NoticeCode = "verified" // every claim, on the tree of the publication
)

// The codes of notices of sessions, threads and pipeline runs.
const (
	NoticeSessionFailed    NoticeCode = "session_failed"
	NoticeOutputMissing    NoticeCode = "output_missing" // something that it should leave
	NoticeGateFailed       NoticeCode = "gate_failed"    // of the last attempt of a pipeline run
	NoticeWaitingForPerson NoticeCode = "waiting_for_person"
	NoticeProcessGone      NoticeCode = "process_gone" // no end was recorded
	NoticeSilent           NoticeCode = "silent"       // no activity for long
)

// severities has the severity of each code, in the order of notices.
var severities = []struct {
	code     NoticeCode
	severity Severity
}{
	{NoticeContradicted, SeverityProblem}, {NoticeAttestFailed, SeverityProblem},
	{NoticeChangesRequested, SeverityProblem},
	{NoticeSessionFailed, SeverityProblem}, {NoticeOutputMissing, SeverityProblem},
	{NoticeGateFailed, SeverityProblem},
	{NoticeWaitingForPerson, SeverityWarning}, {NoticeProcessGone, SeverityWarning},
	{NoticeSilent, SeverityWarning},
	{NoticeWithdrawn, SeverityWarning}, {NoticeSuperseded, SeverityWarning}, {NoticeCompeting, SeverityWarning},
	{NoticeStale, SeverityWarning}, {NoticeReviewAsked, SeverityWarning},
	{NoticeClaimStale, SeverityWarning}, {NoticeLate, SeverityWarning},
	{NoticeModified, SeverityWarning}, {NoticeFileMissing, SeverityWarning},
	{NoticeAsserted, SeverityInfo}, {NoticeNotKept, SeverityInfo}, {NoticeQueued, SeverityInfo},
	{NoticeCommented, SeverityInfo}, {NoticeReviewed, SeverityInfo},
	{NoticeAccepted, SeverityInfo},
	{NoticeApproved, SeverityOK}, {NoticeVerified, SeverityOK},
}

// String returns the notice as a line for a reader. One that is no reason to be careful
// is a note.
func (n Notice) String() string {
	if n.Severity == SeverityProblem || n.Severity == SeverityWarning {
		return "warning: " + n.Text
	}
	return "note: " + n.Text
}

// order returns the place of a code among the others. A code of a later version comes last.
func (c NoticeCode) order() int {
	for i, s := range severities {
		if s.code == c {
			return i
		}
	}
	return len(severities)
}

// IsLocal reports whether a notice with the code is about this machine. The others follow
// from the log and are the same everywhere.
func (c NoticeCode) IsLocal() bool {
	switch c {
	case NoticeModified, NoticeFileMissing, NoticeQueued:
		return true
	}
	return false
}

// isOfClaims reports whether a notice with the code is about the claims of an artifact.
func (c NoticeCode) isOfClaims() bool {
	switch c {
	case NoticeContradicted, NoticeAttestFailed, NoticeClaimStale, NoticeAsserted, NoticeVerified:
		return true
	}
	return false
}

// NewNotice returns a notice with the severity of its code.
func NewNotice(code NoticeCode, text string, refs ...string) Notice {
	n := Notice{Code: code, Severity: SeverityInfo, Text: text, Refs: refs}
	if i := code.order(); i < len(severities) {
		n.Severity = severities[i].severity
	}
	return n
}

// CompareNotices orders notices: the worst first.
func CompareNotices(a, b Notice) int { return cmp.Compare(a.Code.order(), b.Code.order()) }

// Codes returns the codes of notices, each once, in their order.
func Codes(list []Notice) (codes []NoticeCode) {
	for _, n := range list {
		if !slices.Contains(codes, n.Code) {
			codes = append(codes, n.Code)
		}
	}
	return codes
}

// Notices returns what a reader of the artifact should know, the worst first.
func (a Artifact) Notices() []Notice {
	var list []Notice
	add := func(code NoticeCode, text string, refs ...string) {
		list = append(list, NewNotice(code, text, refs...))
	}
	if a.Claimed != nil {
		list = append(list, *a.Claimed)
	}
	switch a.Status {
	case Withdrawn:
		add(NoticeWithdrawn, strings.TrimSuffix("withdrawn: "+a.Reason, ": "))
	case Superseded:
		text := "replaced by "
		if a.Reason == NotChosen {
			text = NotChosen + "; replaced by "
		}
		add(NoticeSuperseded, text+strings.Join(a.ReplacedBy, " "), a.ReplacedBy...)
	case Active:
		if a.Acceptance != nil {
			list = append(list, a.Acceptance.notice())
		}
	}
	list = append(list, a.reviewNotices()...)
	if len(a.Competing) > 0 {
		add(NoticeCompeting, "competes with "+strings.Join(a.Competing, " "), a.Competing...)
	}
	for _, in := range a.StaleInputs {
		add(NoticeStale, "input "+in.String(), in.ID)
	}
	if a.Late {
		text := "published after the end of its session, or after its work was cancelled"
		if a.Producer.Session == "" && a.Producer.RunID == "" {
			text = "published after its work was cancelled"
		}
		add(NoticeLate, text)
	}
	if a.Status != Withdrawn && !a.Kept && a.Redacted == nil {
		add(NoticeNotKept, "no copy was kept")
	}
	if a.Queued {
		add(NoticeQueued, "on this machine only, until its log can be reached")
	}
	if code, text := a.fileNotice(); code != "" {
		add(code, text)
	}
	order.Sort(list, CompareNotices)
	return list
}

// fileNotice compares the file of an active artifact with what was published, as far as
// its state is known. That a file is gone whose content was kept is no news.
func (a Artifact) fileNotice() (code NoticeCode, text string) {
	switch {
	case a.Status != Active:
	case a.Target == Modified:
		code, text = NoticeModified, "the file was modified after it was published"
	case a.File == "" && a.Kept:
	case a.File == "" && (a.Target == Missing || a.Target == Unknown):
		code, text = NoticeFileMissing, "the file can't be reached from here"
	case a.Target == Missing:
		code, text = NoticeFileMissing, "the file is missing"
	}
	return code, text
}

// String returns what happened to an input, as a part of a sentence.
func (in StaleInput) String() string {
	what := "replaced"
	if in.Status == Withdrawn {
		what = "withdrawn"
	}
	text := fmt.Sprintf("%s v%d (%s) was %s", in.Channel, in.Revision, in.ID, what)
	for i, r := range in.Active {
		text += []string{"; ", ", "}[min(i, 1)] + fmt.Sprintf("v%d (%s)", r.Revision, r.ID)
	}
	switch len(in.Active) {
	case 0:
		return text
	case 1:
		return text + " is active"
	}
	return text + " are active"
}
