package handoff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agent-handoff/handoff/internal/tool/jsonl"
	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// Published is the result of a publish or a withdrawal.
type Published struct {
	Artifact

	// Existing reports that no record was added: the artifact is the one of an
	// earlier publish with the same key, or the unchanged head of the same name.
	Existing bool

	// AlsoActive is the ID of another active artifact of the channel with the same
	// file: a revision should replace it. "" if there is none.
	AlsoActive string

	// Warnings are problems that did not prevent the publish, one sentence each.
	Warnings []string
}

// MarshalJSON returns the JSON of the artifact with the members existing,
// alsoActive and warnings added.
func (p Published) MarshalJSON() ([]byte, error) {
	b, err := p.Artifact.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return jsonl.WithFields(b, publication{p.Existing, p.AlsoActive, p.Warnings})
}

// publication are the fields that the JSON of Published adds to that of its artifact.
type publication struct {
	Existing   bool     `json:"existing"`
	AlsoActive string   `json:"alsoActive,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
}

// JSONParts returns the structs whose members the JSON has.
func (p Published) JSONParts() []any { return append(p.Artifact.JSONParts(), publication{}) }

// Publish records that a file or directory is an artifact. When its error is
// nil, the record and the kept copy are on stable storage. It checks the draft
// and the file before it writes anything. A later failure may leave a kept copy
// that no record refers to.
//
// Kinds: Invalid, NotFound (the file, or an artifact in Replaces or Parents),
// Conflict (the file changes while it is read, or the key was used for another
// body), Unavailable, Corrupt, Unsupported (the Hub has no Files, or the draft
// must be kept and it has no Bodies).
func (h *Hub) Publish(ctx context.Context, d Draft) (Published, error) {
	if err := h.Closed(); err != nil {
		return Published{}, err
	}
	d.AllowSecret = d.AllowSecret || h.o.AllowSecrets
	p, secrets, err := h.factOf(d)
	if err != nil {
		return Published{}, err
	}
	if h.o.Files == nil || (d.Keep == KeepAlways && h.bodies == nil) {
		return Published{}, E("publish", d.Path, Unsupported, errors.New("this Hub can't store bodies"),
			Advice("set Files of its Options, and Bodies"))
	}
	for _, check := range h.o.Checks {
		if err := check(ctx, d); err != nil {
			return Published{}, err
		}
	}
	if err := h.requireArtifacts(ctx, slices.Concat(p.Replaces, p.Parents)); err != nil {
		return Published{}, err
	}
	r, err := h.recordOf(p, d)
	if err != nil {
		return Published{}, err
	}
	to, err := h.bodiesFor(ctx, p.Key)
	if err != nil {
		return Published{}, err
	}
	var state FileState
	discard := func() {}
	if d.Body != nil {
		state, discard, err = h.o.Files.Store(ctx, r.ID, d, p, to)
	} else {
		state, err = h.o.Files.Describe(ctx, d, p, to)
	}
	if err != nil {
		return Published{}, err
	}
	earlier, err := h.existing(ctx, p)
	if err != nil || earlier.Existing {
		discard()
		return earlier, err
	}
	if err := h.renew(ctx, r, p); err != nil {
		discard()
		return Published{}, err
	}
	r, warnings, err := h.append(ctx, r)
	if err != nil {
		if r.Seq == 0 { // otherwise the record is in the log and needs its body
			discard()
		}
		return Published{}, err
	}
	if err := h.keepAgain(ctx, r, p); err != nil {
		return Published{}, err
	}
	return h.published(ctx, r, p, state, slices.Concat(secrets, p.warnings(), warnings))
}

// factOf checks a draft and returns its fact, with warnings about secrets that are
// allowed.
func (h *Hub) factOf(d Draft) (p *ArtifactPublished, warnings []string, err error) {
	if p, err = d.fact(); err != nil {
		return nil, nil, err
	}
	if warnings, err = checkSecrets(p, d.AllowSecret); err == nil {
		err = d.checkCredentials()
	}
	return p, warnings, err
}

// renewAfter is how long after its start a publish stores its kept copy again. A
// collection removes copies that no record needs and that are an hour old.
const renewAfter = 10 * time.Minute

// renew stores the kept copy of a publish again, so that it is new, if the process
// was stopped for so long that the copy may be collected. Its kind is Unavailable
// if the copy was collected.
func (h *Hub) renew(ctx context.Context, r Record, p *ArtifactPublished) error {
	if !p.Kept || h.o.Now().Sub(r.CreatedAt) < renewAfter {
		return nil
	}
	body, err := h.bodies.Open(ctx, Digest{SHA256, p.Digest.Value})
	if err == nil {
		_, err = h.bodies.Put(ctx, body)
		err = errors.Join(err, body.Close())
	}
	if errors.Is(err, NotFound) {
		return E("publish", p.Path, Unavailable, errors.New("its copy was collected before it was recorded"),
			Advice("publish it again"))
	}
	return err
}

// keepAgain is renew for a record that was appended. A copy that was collected in
// between is stored again from the file.
func (h *Hub) keepAgain(ctx context.Context, r Record, p *ArtifactPublished) error {
	err := h.renew(ctx, r, p)
	if err == nil {
		return nil
	}
	if c, opened := h.Open(ctx, r.ID); opened == nil {
		_, err = h.bodies.Put(ctx, c)
		err = errors.Join(err, c.Close())
	}
	if err != nil {
		return E("publish", p.Path, Unavailable, fmt.Errorf("recorded as %s, but its copy was collected before", r.ID),
			Suggest("publish it again", ActionPublishAs, r.ID))
	}
	return nil
}

// requireArtifacts returns an error of kind NotFound if the log has no artifact
// with one of the IDs.
func (h *Hub) requireArtifacts(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := h.catchUp(ctx); err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := h.index.Artifact(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// bodiesFor returns where to keep a body: nowhere if its key was used before,
// because then no record is added.
func (h *Hub) bodiesFor(ctx context.Context, key string) (Bodies, error) {
	if key == "" {
		return h.bodies, nil
	}
	page, err := h.Artifacts(ctx, ArtifactQuery{Key: key, IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) > 0 {
		return nil, err
	}
	return h.bodies, nil
}

// existing returns the artifact of an earlier publish with the same key, or the
// head of the same name if nothing has changed. Existing is false if there is
// neither.
func (h *Hub) existing(ctx context.Context, p *ArtifactPublished) (Published, error) {
	if p.Key == "" {
		return h.unchanged(ctx, p)
	}
	page, err := h.Artifacts(ctx, ArtifactQuery{Key: p.Key, IncludeInactive: true})
	if err != nil || len(page.Artifacts) == 0 {
		return Published{}, err
	}
	first := page.Artifacts[0]
	if !sameBody(p, &first.ArtifactPublished) {
		return Published{}, E("publish", p.Path, Conflict,
			fmt.Errorf("key %q was used for another body: %s", p.Key, first.ID),
			Suggest("publish a revision with another key", ActionPublishAs, first.ID))
	}
	warnings := differences(p, &first.ArtifactPublished)
	if p.Digest == (Digest{}) && first.Digest == (Digest{}) {
		warnings = append(warnings, fmt.Sprintf("nothing was recorded: the content can't be compared with that of the "+
			"first publish under key %q, because neither has a digest", p.Key))
	}
	return Published{Artifact: first, Existing: true, Warnings: warnings}, nil
}

// differences returns a warning if a publish that is repeated under a key says
// something else than the first one.
func differences(p, first *ArtifactPublished) []string {
	fields := differing(p, first)
	if len(fields) == 0 {
		return nil
	}
	for i, name := range fields {
		fields[i] = cmp.Or(fieldWords[name], strings.ToLower(name))
	}
	return []string{fmt.Sprintf("nothing was recorded: the first publish under key %q differs in %s", first.Key,
		strings.Join(fields, ", "))}
}

// observed are the fields of a record that do not say what its publisher gave, but where
// the body was and what was found of it: sameBody compares bodies.
var observed = []string{"Path", "Root", "Worktree", "Branch", "TargetType", "SizeBytes", "Digest", "Kept", "Key",
	"Attestation", "Tree"}

// fieldWords are fields whose name in lower case is not what it is called.
var fieldWords = map[string]string{"MediaType": "media type", "Replaces": "replaced artifacts", "Parents": "inputs",
	"Resolves": "resolved comments", "AskReview": "whether a review is asked for"}

// differing returns the names of the fields in which two publishes differ, except those that
// are observed. Of claims, the texts count.
func differing(p, first *ArtifactPublished) (fields []string) {
	a := reflect.ValueOf(*p)
	b := reflect.ValueOf(*first)
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		same := reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface())
		switch {
		case slices.Contains(observed, name):
			continue
		case name == "Claims":
			same = slices.EqualFunc(p.Claims, first.Claims, func(a, b Claim) bool { return a.Text == b.Text })
		case a.Field(i).Kind() == reflect.Slice && a.Field(i).Len()+b.Field(i).Len() == 0:
			same = true
		}
		if !same {
			fields = append(fields, name)
		}
	}
	return fields
}

// unchanged returns the head of the same name if it has all that p would record.
func (h *Hub) unchanged(ctx context.Context, p *ArtifactPublished) (Published, error) {
	if p.Name == "" {
		return Published{}, nil
	}
	page, err := h.Artifacts(ctx, ArtifactQuery{Namespace: p.Namespace, Name: p.Name, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 {
		return Published{}, err
	}
	head := page.Artifacts[0]
	adds := func(name string) bool {
		switch name {
		case "Replaces", "Metadata", "Claims", "Resolves", "AskReview":
			field := reflect.ValueOf(*p).FieldByName(name)
			return !field.IsZero() && (field.Kind() != reflect.Slice || field.Len() > 0)
		}
		return true
	}
	same := head.Digest == p.Digest && p.Attestation == nil &&
		!slices.ContainsFunc(differing(p, &head.ArtifactPublished), adds) &&
		(len(p.Claims) == 0 || reflect.DeepEqual(head.Claims, p.Claims))
	return Published{Artifact: head, Existing: same}, nil
}

// sameBody reports whether two publishes have the same digest or, without
// digests, the same path and size.
func sameBody(a, b *ArtifactPublished) bool {
	if a.Digest != (Digest{}) || b.Digest != (Digest{}) {
		return a.Digest == b.Digest
	}
	sameSize := a.SizeBytes == b.SizeBytes || (a.SizeBytes != nil && b.SizeBytes != nil && *a.SizeBytes == *b.SizeBytes)
	return a.Path == b.Path && sameSize
}

// published returns the view of a record that was just appended. If another
// publish with the same key was appended first, it returns that one, or kind
// Conflict if the bodies differ.
func (h *Hub) published(ctx context.Context, r Record, p *ArtifactPublished, state FileState,
	warnings []string) (Published, error) {
	if p.Key != "" {
		first, err := h.existing(ctx, p)
		if errors.Is(err, Conflict) || (first.Existing && first.ID != r.ID) {
			return first, err
		}
	}
	a, err := h.index.Artifact(ctx, r.ID)
	if err != nil { // the index is behind the log; the record is stored
		a = Artifact{Record: r, ArtifactPublished: *p, Status: Active, Revision: 1}
	}
	if a = h.withRecordPath(a); state == (FileState{}) {
		state = h.o.Files.Stat(ctx, []Artifact{a})[0]
	}
	if state.NotKept != "" {
		lost := "when the file changes"
		switch {
		case a.Worktree != "":
			lost = "when the worktree is removed"
		case a.TargetType == "directory":
			lost = "when the directory changes"
		}
		warnings = append(warnings, "no copy is kept, so the content is lost "+lost+": "+state.NotKept)
	}
	return Published{Artifact: h.withState(ctx, a, state), AlsoActive: h.alsoActive(ctx, a), Warnings: warnings}, nil
}

// recordOf returns the record of a draft.
func (h *Hub) recordOf(p *ArtifactPublished, d Draft) (Record, error) {
	r, err := h.record(p)
	if !d.CreatedAt.IsZero() && d.CreatedAt.Before(r.CreatedAt) {
		r.CreatedAt = d.CreatedAt.UTC()
	}
	return r, err
}

// alsoActive returns the newest other active artifact of the channel with the same
// file, "" if there is none.
func (h *Hub) alsoActive(ctx context.Context, a Artifact) string {
	if a.Name != "" || a.Root != "" {
		return ""
	}
	// Of the artifacts of this path, few are in other worktrees.
	// derived: an error is ignored
	page, _ := h.index.Artifacts(ctx, ArtifactQuery{Channel: a.Channel, Paths: []string{a.Path}, Status: Active,
		Limit: 20})
	for _, b := range page.Artifacts {
		if b.ID != a.ID && b.Path == a.Path && b.Root == "" && b.Worktree == a.Worktree {
			return b.ID
		}
	}
	return ""
}

func (p *ArtifactPublished) warnings() []string {
	if p.SizeBytes != nil && *p.SizeBytes == 0 && p.Attestation == nil {
		return []string{"the body is empty"}
	}
	return nil
}

// Withdraw records that an artifact is withdrawn. Nothing is deleted, and what
// the artifact replaced is active again. If it was withdrawn before, no record
// is added. The reason is one line of at most MaxSummary characters.
//
// Kinds: NotFound, Invalid (the reason), and those of Log.Append.
func (h *Hub) Withdraw(ctx context.Context, id, reason string) (Published, error) {
	a, err := h.Artifact(ctx, id)
	if err != nil {
		return Published{}, err
	}
	if a.Status == Withdrawn {
		return Published{Artifact: a, Existing: true}, nil
	}
	reason = printable.OneLine(reason)
	if err := checkText("reason", reason, MaxSummary); err != nil {
		return Published{}, err
	}
	f := &ArtifactWithdrawn{ArtifactID: id, Reason: reason}
	secrets, err := checkSecrets(f, h.o.AllowSecrets)
	if err != nil {
		return Published{}, err
	}
	r, err := h.record(f)
	if err != nil {
		return Published{}, err
	}
	_, warnings, err := h.append(ctx, r)
	if err != nil {
		return Published{}, err
	}
	a.Status = Withdrawn // in case the index is behind the log
	if view, err := h.Artifact(ctx, id); err == nil {
		a = view
	}
	return Published{Artifact: a, Warnings: append(secrets, warnings...)}, nil
}

// Use records that the producer's work read an artifact, once for each
// artifact. Without a run or session in the producer it records nothing.
// Kinds: those of Log.Append.
func (h *Hub) Use(ctx context.Context, a Artifact) error {
	p := h.producer
	if (p.RunID == "" && p.Session == "") || slices.ContainsFunc(a.UsedBy, func(u Use) bool { return u.Of(p) }) {
		return nil
	}
	r, err := h.record(&ArtifactUsed{ArtifactID: a.ID})
	if err == nil {
		_, _, err = h.append(ctx, r)
	}
	return err
}
