package handoff

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
)

// A Status is the state of an artifact in its family and under its name.
type Status string

const (
	Active     Status = "active"
	Superseded Status = "superseded" // by an artifact that is not withdrawn
	Withdrawn  Status = "withdrawn"
)

// A Target is the state of the file that an artifact points at.
type Target string

const (
	Available Target = "available" // unchanged since it was published
	Missing   Target = "missing"
	Modified  Target = "modified"
	Unknown   Target = "unknown" // not checked, or can't be checked
	Remote    Target = "remote"  // of another machine, and not fetched; Available once its copy is here
)

// An Artifact is a view of a published output: the immutable record that
// published it and the values computed from other records. Path is the current
// path of the file, after all recorded moves.
type Artifact struct {
	Record
	ArtifactPublished

	Status     Status
	Revision   int      // its number, from 1, among the revisions of its family or name
	Reason     string   // why it was withdrawn, or NotChosen
	ReplacedBy []string // the nearest artifacts that replace it and are not withdrawn
	Competing  []string // if it is active: the others of its family, and of those that it was compared with
	Unresolved []string // IDs in Replaces and Parents that the log does not contain
	Late       bool     // published after its work was cancelled, or its run or session was closed
	Queued     bool     // it is on this machine only, until its log can be reached; Seq may change until then
	UsedBy     []Use    // the work that is known to have read it

	// what the log shows of its claims, or of the command that it attests; nil without either
	Claimed *Notice

	Attributed *Attribution // who published it as transcripts show, nil if they were not read or do not show it

	Reviews       []Review       // the newest decision of each reviewer about these bytes
	SignedReviews []Review       // every signed decision about them
	Authenticated bool           // the signatures of the reviews were verified: others do not approve
	EarlierReview *EarlierReview // of the nearest earlier revision that was reviewed, if it is not itself; nil for none
	Comments      []Comment      // on it and, if it is active, the open ones on earlier revisions

	Acceptance  *Acceptance // the newest one of it that was not taken back, nil for none
	NotChosenIn []string    // IDs of the acceptances that supersede it, directly or through others

	Applied []Application // the newest times it was applied, oldest first

	Labels       []string     // the labels that it has now
	LabelHistory []Labeling   // the newest changes of its labels, oldest first
	StaleInputs  []StaleInput // what it was made from and is out of date

	Redacted *Redaction // what of it is not shown, nil for nothing

	Dropped *Dropped // why its kept copy may be gone, nil if it was not dropped

	RecordPath string // path of the file of its record, "" if it has none
	Target     Target // "" if the reader has no access to files
	File       string // absolute path of the file on this machine, "" if it can't be reached
}

// NotChosen is the Reason of an artifact over which another one was chosen.
const NotChosen = "not chosen"

// An Acceptance states that an artifact was chosen over others.
type Acceptance struct {
	ID        string    `json:"id"`             // of its record
	Over      []string  `json:"over,omitempty"` // the artifacts that were not chosen, in this acceptance or earlier ones
	By        string    `json:"by"`             // the name of the user, the agent or the program; "unknown" for none
	Thread    string    `json:"thread,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
}

// An Attribution is who published an artifact according to a source other than its
// record, which stays as it is. Fields that the source does not show are empty.
type Attribution struct {
	Source  string `json:"source"`            // FromTranscript
	Thread  string `json:"thread"`            // URI of the message, or of the thread, which can be opened
	Session string `json:"session,omitempty"` // the program's own: ID of the thread that started all its subagents
	Agent   string `json:"agent,omitempty"`   // name, otherwise role, of the subagent
	Model   Model  `json:"model,omitzero"`    // that made the call
}

// PublishedBy returns the producer of an artifact as recorded, except that the agent, the
// thread and the model are those of its Attribution, as far as it has them.
func (a Artifact) PublishedBy() Producer {
	p := a.Producer
	if by := a.Attributed; by != nil {
		p.Agent, p.Thread = cmp.Or(by.Agent, p.Agent), cmp.Or(by.Thread, p.Thread)
		if by.Model.ID != "" {
			p.Model = by.Model
		}
	}
	return p
}

// FromTranscript is the source of an Attribution that the transcript of a thread shows.
const FromTranscript = "transcript"

// A Use is the first time that a unit of work read an artifact. Harness and
// WorkID identify the work. An inferred use is not
// recorded: a transcript shows it.
type Use struct {
	Harness string `json:"harness,omitempty"`
	WorkID  string `json:"workId"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	RunID   string `json:"runId,omitempty"`

	Inferred bool   `json:"inferred,omitempty"` // a call of Thread read the path of the artifact
	Thread   string `json:"thread,omitempty"`   // then, the URI of the message; WorkID is ""
}

// Of reports whether the use is by a unit of work of the producer.
func (u Use) Of(p Producer) bool { return u.Harness == p.Harness && u.WorkID == p.WorkID }

// An Application states that an artifact was put into a working tree.
type Application struct {
	Commit    string    `json:"commit"` // to whose files it was applied
	By        string    `json:"by"`     // the name of the user, the agent or the program; "unknown" for none
	CreatedAt time.Time `json:"createdAt"`
}

// A Labeling is a change of an artifact's labels.
type Labeling struct {
	Label     string    `json:"label"`
	Removed   bool      `json:"removed,omitempty"` // it was removed, or moved to another artifact
	CreatedAt time.Time `json:"createdAt"`
	Agent     string    `json:"agent,omitempty"`
	Session   string    `json:"session,omitempty"`
}

// A StaleInput is an artifact that another one was made from, directly or through
// others, and that was replaced or withdrawn since.
type StaleInput struct {
	ID       string           `json:"id"`
	Channel  string           `json:"channel"`
	Revision int              `json:"revision"`
	Status   Status           `json:"status"`
	Active   []ActiveRevision `json:"active,omitempty"` // what is active of its family or name
}

// An ActiveRevision is an active artifact and its revision number.
type ActiveRevision struct {
	ID       string `json:"id"`
	Revision int    `json:"revision"`
}

// computed are the fields that the JSON of a view adds to its record.
type computed struct {
	Seq        Seq      `json:"seq"`
	Status     Status   `json:"status"`
	Revision   int      `json:"revision"`
	Reason     string   `json:"reason,omitempty"`
	ReplacedBy []string `json:"replacedBy,omitempty"`
	Competing  []string `json:"competing,omitempty"`
	Unresolved []string `json:"unresolved,omitempty"`
	Late       bool     `json:"late,omitempty"`
	Queued     bool     `json:"queued,omitempty"`
	UsedBy     []Use    `json:"usedBy,omitempty"`

	Attributed *Attribution `json:"attributed,omitempty"`

	Reviews       []Review       `json:"reviews,omitempty"`
	EarlierReview *EarlierReview `json:"earlierReview,omitempty"`
	Comments      []Comment      `json:"comments,omitempty"`

	Acceptance  *Acceptance `json:"acceptance,omitempty"`
	NotChosenIn []string    `json:"notChosenIn,omitempty"`

	Applied []Application `json:"applied,omitempty"`

	Labels       []string     `json:"labels,omitempty"`
	LabelHistory []Labeling   `json:"labelHistory,omitempty"`
	StaleInputs  []StaleInput `json:"staleInputs,omitempty"`

	Redacted *Redaction `json:"redacted,omitempty"`
	Dropped  *Dropped   `json:"dropped,omitempty"`
	Notices  []Notice   `json:"notices,omitempty"`

	RecordPath string `json:"recordPath,omitempty"`
	Target     Target `json:"target,omitempty"`
	File       string `json:"file"`
	Path       string `json:"path,omitempty"` // if it differs from the record
}

// MarshalJSON returns the stored record with the computed fields added.
func (a Artifact) MarshalJSON() ([]byte, error) {
	b, err := a.JSON()
	if err != nil {
		return nil, err
	}
	seq := a.Seq
	if a.Queued {
		seq = 0
	}
	c := computed{seq, a.Status, a.Revision, a.Reason, a.ReplacedBy, a.Competing, a.Unresolved, a.Late, a.Queued,
		a.UsedBy, a.Attributed, a.Reviews, a.EarlierReview, a.Comments,
		a.Acceptance, a.NotChosenIn, a.Applied, a.Labels, a.LabelHistory, a.StaleInputs, a.Redacted, a.Dropped,
		a.Notices(),
		a.RecordPath, a.Target, a.File, ""}
	if p, ok := a.Fact.(*ArtifactPublished); ok && p.Path != a.Path {
		c.Path = a.Path
	}
	return jsonl.WithFields(b, c)
}

// JSONParts returns the structs whose members the JSON of an artifact has. If two have
// the same member, it is that of the first.
func (Artifact) JSONParts() []any { return []any{envelope{}, ArtifactPublished{}, computed{}} }

// UnmarshalJSON is the inverse of MarshalJSON.
func (a *Artifact) UnmarshalJSON(b []byte) error {
	r, err := ParseRecord(slices.Clone(b))
	if err != nil {
		return err
	}
	var c computed
	if err := json.Unmarshal(b, &c); err != nil {
		return err
	}
	*a = Artifact{Record: r, Status: c.Status, Revision: c.Revision, Reason: c.Reason, ReplacedBy: c.ReplacedBy,
		Competing: c.Competing, Unresolved: c.Unresolved, Late: c.Late, Queued: c.Queued, UsedBy: c.UsedBy,
		Attributed: c.Attributed, Reviews: c.Reviews, EarlierReview: c.EarlierReview, Comments: c.Comments,
		Acceptance: c.Acceptance, NotChosenIn: c.NotChosenIn, Applied: c.Applied, Labels: c.Labels,
		LabelHistory: c.LabelHistory,
		StaleInputs:  c.StaleInputs, Redacted: c.Redacted, Dropped: c.Dropped, RecordPath: c.RecordPath,
		Target: c.Target,
		File:   c.File}
	a.Seq = c.Seq
	if i := slices.IndexFunc(c.Notices, func(n Notice) bool { return n.Code.isOfClaims() }); i >= 0 {
		a.Claimed = &c.Notices[i]
	}
	if p, ok := r.Fact.(*ArtifactPublished); ok {
		a.ArtifactPublished = *p
	}
	return nil
}

// IsManaged reports whether handoff chose the path of an artifact: its file is stored
// under its ID, or is that of a name among the artifacts of a session. Such a path is not
// for people: they read the artifact by its ref.
func (a Artifact) IsManaged() bool {
	return a.IsStored() || (a.Name != "" && strings.Contains("/"+a.Path, "/artifacts/"))
}

// IsStored reports whether the file of an artifact was stored by handoff under its ID,
// for example from standard input. Nobody else writes to it.
func (a Artifact) IsStored() bool { return strings.Contains("/"+a.Path, "/artifacts/files/"+a.ID+"/") }

// DisplayName returns what an artifact is called, for people to read: its title, or else
// its path, of which the part before the directory of its session is left out. Where
// handoff chose the path, that is the name, or else the name of the file.
func (a Artifact) DisplayName() string {
	if a.Title != "" {
		return a.Title
	}
	if a.IsManaged() {
		return cmp.Or(a.Name, path.Base(a.Path))
	}
	if _, inside, ok := strings.Cut("/"+a.Path, "/"+a.Producer.Session+"/"); ok && a.Producer.Session != "" {
		return inside
	}
	return a.Path
}

// Label returns the channel and the display name.
func (a Artifact) Label() string { return a.Channel + ": " + a.DisplayName() }

// An ArtifactQuery selects artifacts that match all of its fields. The zero value
// selects every active artifact.
type ArtifactQuery struct {
	Channel, Kind, Name, Namespace, Tag, Key string
	Named                                    bool // only artifacts that have a name

	// Producer selects by fields of the producer, which must all be equal:
	// session, run, task, operation, work, agent, thread, or any other name that
	// Producer.Slot accepts.
	Producer map[string]string

	Since, Until time.Time // the record was created at or after Since and before Until

	// Status selects one status. IncludeInactive selects every status. Without
	// either, only active artifacts are selected, and the others are counted.
	Status          Status
	IncludeInactive bool

	IDPrefix, IDSuffix string

	// Paths selects by the path in the record, or by one that this path was moved
	// to. The artifact must have one of the paths.
	Paths []string

	Family   string // the ID of any artifact of the family
	Revision int    // its number in its family or name; 0 for any
	Label    string // it has this label now
	UsedBy   string // the agent, session or run of a unit of work that read it
	Stale    bool   // it has StaleInputs
	Parent   string // an ID in the Parents of the artifact

	Discussed bool   // it, or an earlier revision, has comments or reviews, or its author asks for a review
	Comment   string // the ID of a comment on it

	Competing bool // it has a Competing
	Claimed   bool // it has claims, or is an attestation

	IDs       []string // the artifact has one of these IDs, unless this is nil
	AnyParent []string // one of these IDs is in its Parents, unless this is nil
	NewestIn  []string // no later artifact was published in one of these sessions or runs, unless this is nil

	After Seq // the record is after this one in the log

	Limit  int    // of artifacts on the page; 0 for no limit
	Cursor string // of the previous page
}

// Check returns an error of kind Invalid if no artifact can match the query: its
// status is unknown, or Draft would not allow one of its values.
func (q ArtifactQuery) Check() error {
	switch q.Status {
	case "", Active, Superseded, Withdrawn:
	default:
		return E("status", string(q.Status), Invalid, errors.New("unknown status"),
			Advice("the statuses are active, superseded and withdrawn"))
	}
	if q.Channel != "" {
		if err := CheckChannel(q.Channel); err != nil {
			return err
		}
	}
	if q.Label != "" {
		if err := CheckLabel(q.Label); err != nil {
			return err
		}
	}
	return cmp.Or(checkText("kind", q.Kind, maxWord), checkText("tag", q.Tag, maxWord),
		checkText("key", q.Key, maxWord))
}

// An ArtifactPage is one page of a list, newest first.
type ArtifactPage struct {
	Artifacts   []Artifact `json:"artifacts"`
	Cursor      string     `json:"cursor,omitempty"`  // of the next page, "" at the end
	HiddenCount int        `json:"hidden"`            // inactive artifacts that match a query without a status; see MaxHidden
	Damaged     []Seq      `json:"damaged,omitempty"` // sequence numbers of records that can't be decoded

	IsCut bool `json:"-"` // more artifacts have the words of the query than were looked at
}

// MaxHidden is the number of hidden artifacts at which a query stops to count them, unless
// it selects by nothing or by a channel only.
const MaxHidden = 1000

// NewCursor returns the cursor for the page after one whose last element has the
// sequence number last.
func NewCursor(last Seq) string { return "c" + strconv.FormatInt(int64(last), 36) }

// ParseCursor returns the sequence number that all elements of a page precede, 0
// for the first page. Its kind is Invalid.
func ParseCursor(s string) (Seq, error) {
	if s == "" {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(s, "c")
	n, err := strconv.ParseInt(digits, 36, 64)
	if !ok || err != nil || n < 1 {
		return 0, invalidCursor(s)
	}
	return Seq(n), nil
}

func invalidCursor(s string) error {
	return E("list", s, Invalid, errors.New("invalid cursor"), Advice("pass the cursor of the previous page"))
}
