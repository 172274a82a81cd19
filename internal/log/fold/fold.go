// Package fold computes the state of artifacts, sessions and work from the
// records of a log. It contains every rule about what supersedes what, which
// revision is the head of a name, and when an artifact is late. An index stores
// the state; the rules see it through Store and Keeper.
package fold

import (
	"slices"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
)

// A Store is the state of a fold, from which views are computed. Each method
// returns nil or "" for an ID that no record has named.
type Store interface {
	WorkFinder
	Artifact(id string) (*ArtifactState, error)

	// State is Artifact, but Record and Published may lack every field.
	State(id string) (*ArtifactState, error)

	Session(id string) (*handoff.Session, error)
	Pointer(space, key string) (string, error)

	// Heads returns the IDs of the active artifacts of a group, in the order of the log.
	Heads(group string) ([]string, error)
}

// A WorkFinder finds the state of a unit of work.
type WorkFinder interface {
	Work(harness, id string) (*handoff.Work, error)
}

// A Finder answers what only folds ask.
type Finder interface {
	// Children returns the IDs of the artifacts that have the ID in Inputs or Known, in any
	// order, and possibly others that have it in Parents.
	Children(id string) ([]string, error)

	// Runs returns the IDs of the runs whose parent is the session or run with the
	// ID, in any order.
	Runs(id string) ([]string, error)
}

// A Keeper is a Store that a fold can change. Later reads return what was put.
type Keeper interface {
	Store
	Finder
	PutArtifact(*ArtifactState) error
	PutSession(*handoff.Session) error
	PutWork(*handoff.Work) error
	PutPointer(space, key, value string) error
	Joiner
}

// A Joiner joins families and groups.
type Joiner interface {
	Join(into, from string) error // moves the artifacts of one family to another

	// Contest moves the artifacts of the group of a to the group of a contest.
	Contest(into string, a *ArtifactState) error
}

// The spaces of pointers.
const (
	recordSpace = "record" // by record id: set once the record was folded
	keySpace    = "key"    // by key: the ID of the first record with it
	nameSpace   = "name"   // by namespace and name: the ID of the head
	labelSpace  = "label"  // by channel and label: the ID of the artifact that has it
	familySpace = "family" // by family, if it has several artifacts: how many
	countSpace  = "count"  // by namespace and name: the number of revisions
	newestSpace = "newest" // by namespace and name: the ID of the last revision, whatever its status

	executionSpace = "execution" // by agent and workflow: the number of executions
)

// An ArtifactState is the state of one artifact in a fold. Published is nil if
// records have named the ID but the log does not contain its record so far.
type ArtifactState struct {
	ID        string                     `json:"-"`
	Record    handoff.Record             `json:"-"`
	Published *handoff.ArtifactPublished `json:"-"`
	Family    string                     `json:"-"`
	// Contested is the contest of its family: the ID of the first acceptance that connects
	// it with others. "" if no acceptance does.
	Contested string `json:"-"`

	// The rest, as JSON, is what an index stores.
	Replaced   []string `json:"replaced,omitempty"`   // the artifacts it replaces, of those known when it was published
	ReplacedBy []string `json:"replacedBy,omitempty"` // the artifacts that name it in Replaces
	// how many of ReplacedBy and NotChosen are active or themselves superseded by an active one
	SupersededBy int    `json:"supersededBy,omitempty"`
	Withdrawn    bool   `json:"withdrawn,omitempty"`
	Reason       string `json:"reason,omitempty"`   // why it was withdrawn
	Outdated     bool   `json:"outdated,omitempty"` // a newer revision has its name
	// of the head of a name: earlier revisions by others who did the same work, see rivalsOf
	Rivals []string `json:"rivals,omitempty"`
	Uses   int      `json:"uses,omitempty"` // the number of units of work that read it

	// Acceptances that count connect it with others: see foldAccepted.
	Chosen     []string            `json:"chosen,omitempty"`     // the artifacts that it was chosen over
	NotChosen  []string            `json:"notChosen,omitempty"`  // those that were chosen over it
	Acceptance *handoff.Acceptance `json:"acceptance,omitempty"` // the newest one of it, to which all of Chosen belong

	Applied []handoff.Application `json:"applied,omitempty"`

	Remarks int    `json:"remarks,omitempty"` // the number of reviews, comments and replies
	Before  string `json:"before,omitempty"`  // the revision of its name before it, whatever its status
	Later   bool   `json:"later,omitempty"`   // an earlier revision has remarks

	Predecessors int                `json:"predecessors,omitempty"` // the number of earlier revisions
	Labels       []string           `json:"labels,omitempty"`
	LabelHistory []handoff.Labeling `json:"labelHistory,omitempty"`
	Inputs       []string           `json:"inputs,omitempty"`      // what it was made from: see setInputs
	Known        []string           `json:"known,omitempty"`       // inputs by their own status only
	StaleInputs  int                `json:"staleInputs,omitempty"` // how many of both are out of date

	Redactions []handoff.Replacement `json:"redactions,omitempty"` // parts of the record that are secrets
	Import     string                `json:"import,omitempty"`     // of its record
	Dropped    []droppedBody         `json:"dropped,omitempty"`    // its bodies that a policy dropped
	// when the newest of them, or of the reason, was recorded
	RedactedAt time.Time `json:"redactedAt,omitzero"`
}

func (a *ArtifactState) known() bool { return a != nil && a.Published != nil }

// Status returns the status of the artifact in its family and under its name.
func (a *ArtifactState) Status() handoff.Status {
	switch {
	case a.Withdrawn:
		return handoff.Withdrawn
	case a.SupersededBy > 0 || a.Outdated:
		return handoff.Superseded
	}
	return handoff.Active
}

// supersedes reports whether the artifacts that a replaces are superseded, by a
// itself or by an artifact that supersedes a.
func (a *ArtifactState) supersedes() bool { return !a.Withdrawn || a.SupersededBy > 0 }

// Apply applies the next record of a log to the state k. It skips a record whose ID
// it has seen, because a writer may die after an append and retry.
func Apply(k Keeper, r handoff.Record) error {
	if r.Import != "" {
		return hold(k, r)
	}
	return apply(k, r)
}

func apply(k Keeper, r handoff.Record) error {
	seen, err := k.Pointer(recordSpace, r.ID)
	if err != nil || seen != "" {
		return err
	}
	if err := k.PutPointer(recordSpace, r.ID, r.Type); err != nil {
		return err
	}
	switch f := r.Fact.(type) {
	case *handoff.ArtifactPublished:
		return foldTraced(k, func(k *tracedKeeper) error { return foldPublished(k, r, f) })
	case *handoff.ArtifactWithdrawn:
		return foldTraced(k, func(k *tracedKeeper) error { return foldWithdrawn(k, f) })
	case *handoff.ArtifactAccepted:
		return foldTraced(k, func(k *tracedKeeper) error { return foldAccepted(k, r, f) })
	case *handoff.ArtifactUsed:
		return foldUsed(k, r.Producer, f)
	case *handoff.ArtifactApplied:
		return foldApplied(k, r, f)
	case *handoff.ArtifactLabeled:
		return foldLabeled(k, r, f)
	case *handoff.ArtifactCommented:
		return foldCommented(k, r, f)
	case *handoff.ArtifactReviewed:
		return foldReviewed(k, r, f)
	case *handoff.BodyRedacted:
		return foldBodyRedacted(k, r, f)
	case *handoff.RecordRedacted:
		return foldRecordRedacted(k, r, f)
	case *handoff.BodiesDropped:
		return foldDropped(k, r, f)
	case *handoff.PathMoved:
		return foldMoved(k, r, f)
	case *handoff.SessionImported:
		return foldImported(k, f)
	case *handoff.ThreadKept:
		return foldKept(k, r, f)
	}
	if id, ok := sessionOf(r.Fact); ok {
		return foldSession(k, id, r)
	}
	if id, ok := workOf(r.Fact); ok {
		return foldWork(k, id, r)
	}
	return nil
}

func foldWork(k Keeper, id string, r handoff.Record) error {
	w, err := k.Work(r.Producer.Harness, id)
	if err != nil {
		return err
	}
	if w == nil {
		w = &handoff.Work{Harness: r.Producer.Harness, ID: id}
	}
	ApplyWork(w, r)
	return k.PutWork(w)
}

func foldPublished(k *tracedKeeper, r handoff.Record, p *handoff.ArtifactPublished) error {
	if p.Key != "" {
		first, err := k.Pointer(keySpace, p.Key)
		if err != nil || first != "" {
			return err
		}
		if err := k.PutPointer(keySpace, p.Key, r.ID); err != nil {
			return err
		}
	}
	a, err := k.Artifact(r.ID)
	if err != nil {
		return err
	}
	if a == nil {
		a = &ArtifactState{ID: r.ID}
	}
	a.Record = r
	a.Published = p
	a.Family = r.ID
	a.Import = r.Import
	if err := foldReplaces(k, a); err != nil {
		return err
	}
	if err := countRevision(k, a); err != nil {
		return err
	}
	if p.Name != "" && !a.Withdrawn {
		if err := setHead(k, a); err != nil {
			return err
		}
	}
	if err := setInputs(k, a); err != nil {
		return err
	}
	if p.Attestation != nil {
		if err := foldAttested(k, a); err != nil {
			return err
		}
	}
	if err := k.PutArtifact(a); err != nil {
		return err
	}
	return foldDiscussed(k, a)
}

// setHead makes a the head of its name.
func setHead(k Keeper, a *ArtifactState) error {
	head, err := k.Pointer(nameSpace, nameKey(a.Published))
	if err != nil {
		return err
	}
	if head != "" {
		before, err := k.Artifact(head)
		if err != nil {
			return err
		}
		before.Outdated = true
		if err := k.PutArtifact(before); err != nil {
			return err
		}
	}
	if a.Rivals, err = rivalsOf(k, a); err != nil {
		return err
	}
	return k.PutPointer(nameSpace, nameKey(a.Published), a.ID)
}

func nameKey(p *handoff.ArtifactPublished) string { return p.Namespace + "\x00" + p.Name }

// foldReplaces joins the families of the artifacts that a replaces. It ignores
// artifacts after a, so that Replaces never forms a cycle, and what an imported artifact
// names that its import did not bring.
func foldReplaces(k Keeper, a *ArtifactState) error {
	others := 0 // in the family of a
	for _, id := range a.Published.Replaces {
		b, err := k.Artifact(id)
		if err != nil {
			return err
		}
		if !b.known() || id == a.ID || slices.Contains(a.Replaced, id) ||
			(a.Record.Import != "" && b.Record.Import != a.Record.Import) {
			continue
		}
		a.Replaced = append(a.Replaced, id)
		b.ReplacedBy = append(b.ReplacedBy, a.ID)
		if err := k.PutArtifact(b); err != nil {
			return err
		}
		if err := joinContests(k, a, b); err != nil {
			return err
		}
		if b.Family != a.Family {
			n, err := count(k, familySpace, b.Family, 1)
			if err != nil {
				return err
			}
			others += n
			if err := k.Join(b.Family, a.Family); err != nil {
				return err
			}
			a.Family = b.Family
		}
	}
	if others > 0 {
		a.Predecessors = others
		if err := k.PutPointer(familySpace, a.Family, strconv.Itoa(others+1)); err != nil {
			return err
		}
	}
	if !a.supersedes() {
		return nil
	}
	return addSupport(k, a.Replaced, +1)
}

func foldWithdrawn(k Keeper, f *handoff.ArtifactWithdrawn) error {
	a, err := k.Artifact(f.ArtifactID)
	if err != nil {
		return err
	}
	if a == nil {
		a = &ArtifactState{ID: f.ArtifactID}
	}
	if a.Withdrawn {
		return nil
	}
	a.Withdrawn, a.Reason = true, f.Reason
	if err := k.PutArtifact(a); err != nil || !a.known() {
		return err
	}
	if !a.supersedes() {
		if err := addSupport(k, a.below(), -1); err != nil {
			return err
		}
	}
	if err := foldUnattested(k, a); err != nil {
		return err
	}
	return restoreHead(k, a)
}

// addSupport adds n to SupersededBy of each artifact, and propagates the change: a
// withdrawn artifact supersedes others only while it is superseded itself.
func addSupport(k Keeper, ids []string, n int) error {
	for todo := slices.Clone(ids); len(todo) > 0; todo = todo[1:] {
		a, err := k.Artifact(todo[0])
		if err != nil {
			return err
		}
		before := a.supersedes()
		a.SupersededBy += n
		if err := k.PutArtifact(a); err != nil {
			return err
		}
		if a.supersedes() != before {
			todo = append(todo, a.below()...)
		}
	}
	return nil
}

// restoreHead looks for the head of a's name again, after a was withdrawn.
func restoreHead(k Keeper, a *ArtifactState) error {
	if a.Published.Name == "" {
		return nil
	}
	if len(a.Chosen) > 0 { // it may have been passed over others of the name
		return updateHead(k, a.Published)
	}
	head, err := k.Pointer(nameSpace, nameKey(a.Published))
	if err != nil || head == "" {
		return err
	}
	if head != a.ID {
		other, err := k.Artifact(head)
		if err != nil {
			return err
		}
		return setRivals(k, other)
	}
	return headFrom(k, head, a.Before)
}

// updateHead looks for the head of a name again: the newest revision that is not withdrawn,
// and over which no other one was chosen.
func updateHead(k Keeper, p *handoff.ArtifactPublished) error {
	if p.Name == "" {
		return nil
	}
	head, err := k.Pointer(nameSpace, nameKey(p))
	if err != nil || head == "" {
		return err
	}
	newest, err := k.Pointer(newestSpace, nameKey(p))
	if err != nil {
		return err
	}
	return headFrom(k, head, newest)
}

// headFrom replaces the head of a name by the first revision that can be, from one on.
func headFrom(k Keeper, head, from string) error {
	was, err := k.Artifact(head)
	if err != nil {
		return err
	}
	passed := map[string]bool{}
	for from != "" {
		b, err := k.Artifact(from)
		if err != nil {
			return err
		}
		if !b.Withdrawn && !isPassedOver(k, b, passed) {
			break
		}
		from = b.Before
	}
	if from == head {
		return setRivals(k, was)
	}
	was.Outdated = !was.Withdrawn
	if err := k.PutArtifact(was); err != nil {
		return err
	}
	if from != "" {
		now, err := k.Artifact(from)
		if err != nil {
			return err
		}
		now.Outdated = false
		if now.Rivals, err = rivalsOf(k, now); err != nil {
			return err
		}
		if err := k.PutArtifact(now); err != nil {
			return err
		}
	}
	return k.PutPointer(nameSpace, nameKey(was.Published), from)
}

// workOf returns the ID of the work that a fact is about, or false if it is about
// something else.
func workOf(f handoff.Fact) (string, bool) {
	switch f := f.(type) {
	case *handoff.WorkStarted:
		return f.WorkID, true
	case *handoff.WorkEnded:
		return f.WorkID, true
	}
	return "", false
}
