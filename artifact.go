package handoff

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Status says whether an artifact still stands.
type Status string

const (
	Active     Status = "active"
	Superseded Status = "superseded" // a revision that stands has taken its place
	Withdrawn  Status = "withdrawn"
)

// A Target says what became of the body that an artifact points at.
type Target string

const (
	Available Target = "available" // it is there, as published
	Missing   Target = "missing"
	Modified  Target = "modified"
	Unknown   Target = "unknown" // it is there; whether it changed was not looked at, or can't be told
)

// An Artifact is a view: the record that published it, which never changes,
// and what the other records make of it. Path is where the file lies now, as far
// as a move was recorded.
type Artifact struct {
	Record
	ArtifactPublished

	Status     Status
	Reason     string   // why it was withdrawn
	ReplacedBy []string // the nearest revisions above it that stand
	Competing  []string // the other heads of its family, where it is a head
	Unresolved []string // ids it names that this log has not
	Late       bool     // it was published after its run or session closed
	UsedBy     []Use    // the work that looked at it, as far as it was recorded

	RecordPath string // where its record can be read, "" where it has no file
	Target     Target // "" where no one looked
}

// A Use names a unit of work that looked at an artifact.
type Use struct {
	Harness string `json:"harness,omitempty"`
	WorkID  string `json:"workId"`
}

// computed is what a view adds to its record, as the surfaces show it.
type computed struct {
	Seq        Seq      `json:"seq"`
	Status     Status   `json:"status"`
	Reason     string   `json:"reason,omitempty"`
	ReplacedBy []string `json:"replacedBy,omitempty"`
	Competing  []string `json:"competing,omitempty"`
	Unresolved []string `json:"unresolved,omitempty"`
	Late       bool     `json:"late,omitempty"`
	UsedBy     []Use    `json:"usedBy,omitempty"`
	RecordPath string   `json:"recordPath,omitempty"`
	Target     Target   `json:"target,omitempty"`
	Path       string   `json:"path,omitempty"` // where it is not the record's
}

// MarshalJSON returns the record as it is stored, with the computed fields
// after its own.
func (a Artifact) MarshalJSON() ([]byte, error) {
	b, err := a.JSON()
	if err != nil {
		return nil, err
	}
	c := computed{a.Seq, a.Status, a.Reason, a.ReplacedBy, a.Competing, a.Unresolved, a.Late, a.UsedBy, a.RecordPath, a.Target, ""}
	if p, ok := a.Fact.(*ArtifactPublished); ok && p.Path != a.Path {
		c.Path = a.Path
	}
	return withFields(b, c)
}

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
	*a = Artifact{Record: r, Status: c.Status, Reason: c.Reason, ReplacedBy: c.ReplacedBy, Competing: c.Competing,
		Unresolved: c.Unresolved, Late: c.Late, UsedBy: c.UsedBy, RecordPath: c.RecordPath, Target: c.Target}
	a.Seq = c.Seq
	if p, ok := r.Fact.(*ArtifactPublished); ok {
		a.ArtifactPublished = *p
	}
	return nil
}

// Label names the artifact for a person: its channel, and its title or path.
func (a Artifact) Label() string {
	if a.Title != "" {
		return a.Channel + ": " + a.Title
	}
	return a.Channel + ": " + a.Path
}

// An ArtifactQuery selects artifacts. Its fields join with "and"; the zero
// value selects every artifact that stands.
type ArtifactQuery struct {
	Channel, Kind, Name, Namespace, Tag, Key string

	// Producer selects by slots of the producer, all of which must be equal:
	// session, run, task, operation, work, agent, thread, or any other.
	Producer map[string]string

	Since, Until time.Time // by the record's own time: at or after, before

	// Status selects one status. IncludeInactive selects every status. Without
	// either, only active artifacts are selected, and the others are counted.
	Status          Status
	IncludeInactive bool

	IDPrefix string
	Family   string // the id of any member: all that is joined to it by Replaces
	Parent   string // an id that the artifact was made from

	Limit  int    // 0 for all
	Cursor string // where an earlier page ended
}

// An ArtifactPage is one page of a list, newest first.
type ArtifactPage struct {
	Artifacts   []Artifact `json:"artifacts"`
	Cursor      string     `json:"cursor,omitempty"`  // for the next page, "" at the end
	HiddenCount int        `json:"hidden"`            // how many match the query but for their status
	Damaged     []Seq      `json:"damaged,omitempty"` // places whose record can't be read
}

// matches reports whether the query selects the artifact by what its record
// says. Status, family and paging are not looked at.
func (q ArtifactQuery) matches(r Record, p *ArtifactPublished) bool {
	switch {
	case q.Channel != "" && q.Channel != p.Channel,
		q.Kind != "" && q.Kind != p.Kind,
		q.Name != "" && q.Name != p.Name,
		q.Namespace != "" && q.Namespace != p.Namespace,
		q.Key != "" && q.Key != p.Key,
		q.Tag != "" && !slices.Contains(p.Tags, q.Tag),
		q.Parent != "" && !slices.Contains(p.Parents, q.Parent),
		!q.Since.IsZero() && r.CreatedAt.Before(q.Since),
		!q.Until.IsZero() && !r.CreatedAt.Before(q.Until),
		!strings.HasPrefix(r.ID, q.IDPrefix):
		return false
	}
	for slot, want := range q.Producer {
		if r.Producer.Slot(slot) != want {
			return false
		}
	}
	return true
}

// shows reports whether the query shows artifacts of the given status.
func (q ArtifactQuery) shows(s Status) bool {
	if q.Status != "" {
		return s == q.Status
	}
	return q.IncludeInactive || s == Active
}

// NewCursor returns the cursor of a page whose last element is at the given
// place: the next page holds what came before it.
func NewCursor(last Seq) string { return "c" + strconv.FormatInt(int64(last), 36) }

// ParseCursor returns the place before which a page begins, 0 for the newest.
// Its kind is Invalid.
func ParseCursor(s string) (Seq, error) {
	if s == "" {
		return 0, nil
	}
	digits, ok := strings.CutPrefix(s, "c")
	n, err := strconv.ParseInt(digits, 36, 64)
	if !ok || err != nil || n < 1 {
		return 0, &Error{Op: "list", Name: s, Kind: Invalid, Err: errors.New("is no cursor"), Hint: Advice("pass the cursor that an earlier page ended with")}
	}
	return Seq(n), nil
}
