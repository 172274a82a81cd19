package handoff

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Published is the answer to a publish.
type Published struct {
	Artifact

	// Existing says that nothing was added: an earlier publish under the same
	// key, or the newest revision of the same name, is this artifact.
	Existing bool

	// Warnings are what the publisher should know, but is not stopped by.
	Warnings []string
}

// MarshalJSON returns the view, with what is said of the publish after it.
func (p Published) MarshalJSON() ([]byte, error) {
	b, err := p.Artifact.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return withFields(b, struct {
		Existing bool     `json:"existing"`
		Warnings []string `json:"warnings,omitempty"`
	}{p.Existing, p.Warnings})
}

// Publish records that a file or directory is an artifact. It fails before
// anything is written where the draft or what it points at is not in order;
// once it returns nil, the record is on stable storage, and the copy that it
// speaks of too. A failure may leave a copy that no record needs.
//
// Kinds: Invalid, NotFound (the body, or an artifact that the draft names),
// Conflict (the body keeps changing; the key was used for another body),
// Unavailable, Corrupt, Unsupported.
func (h *Hub) Publish(ctx context.Context, d Draft) (Published, error) {
	p, err := d.fact()
	if err != nil {
		return Published{}, err
	}
	if h.o.Files == nil || d.Keep == KeepAlways && h.bodies == nil {
		return Published{}, &Error{Op: "publish", Name: d.Path, Kind: Unsupported, Err: errors.New("no body can be kept here")}
	}
	for _, check := range h.o.Checks {
		if err := check(ctx, d); err != nil {
			return Published{}, err
		}
	}
	if err := h.known(ctx, slices.Concat(p.Replaces, p.Parents)); err != nil {
		return Published{}, err
	}
	r, err := h.record(p)
	if err != nil {
		return Published{}, err
	}
	to, err := h.keeping(ctx, p.Key)
	if err != nil {
		return Published{}, err
	}
	discard := func() {}
	if d.Body != nil {
		discard, err = h.o.Files.Store(ctx, r.ID, d, p, to)
	} else {
		err = h.o.Files.Describe(ctx, d, p, to)
	}
	if err != nil {
		return Published{}, err
	}
	done, err := h.settle(ctx, p)
	if err != nil || done.Existing {
		discard()
		return done, err
	}
	r, warnings, err := h.append(ctx, r)
	if err != nil {
		if r.Seq == 0 { // else the record stands, though it may not be on stable storage
			discard()
		}
		return Published{}, err
	}
	return h.answer(ctx, r, p, append(p.warnings(), warnings...))
}

// known returns an error of kind NotFound if the log has no artifact under one
// of the ids.
func (h *Hub) known(ctx context.Context, ids []string) error {
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

// keeping returns where a body is kept: nowhere if its key was used before, for
// then it is the body of that publish, or refused.
func (h *Hub) keeping(ctx context.Context, key string) (Bodies, error) {
	if key == "" {
		return h.bodies, nil
	}
	page, err := h.Artifacts(ctx, ArtifactQuery{Key: key, IncludeInactive: true, Limit: 1})
	if err != nil || len(page.Artifacts) > 0 {
		return nil, err
	}
	return h.bodies, nil
}

// settle looks for an earlier publish under the same key, or of the same name
// with nothing new to say.
func (h *Hub) settle(ctx context.Context, p *ArtifactPublished) (Published, error) {
	if p.Key == "" {
		return h.unchanged(ctx, p)
	}
	page, err := h.Artifacts(ctx, ArtifactQuery{Key: p.Key, IncludeInactive: true})
	if err != nil || len(page.Artifacts) == 0 {
		return Published{}, err
	}
	first := page.Artifacts[0]
	if !sameBody(p, &first.ArtifactPublished) {
		return Published{}, &Error{Op: "publish", Name: p.Path, Kind: Conflict,
			Err:  fmt.Errorf("key %q was used for another body: %s", p.Key, first.ID),
			Hint: Advice("publish under a new key, with --replaces " + first.ID)}
	}
	return Published{Artifact: first, Existing: true}, nil
}

// unchanged looks for a head of the same name that says what p says.
func (h *Hub) unchanged(ctx context.Context, p *ArtifactPublished) (Published, error) {
	if p.Name == "" {
		return Published{}, nil
	}
	page, err := h.Artifacts(ctx, ArtifactQuery{Namespace: p.Namespace, Name: p.Name, Limit: 1})
	if err != nil || len(page.Artifacts) == 0 {
		return Published{}, err
	}
	head := page.Artifacts[0]
	same := head.Digest == p.Digest && head.Channel == p.Channel && head.Kind == p.Kind && head.Title == p.Title &&
		head.Summary == p.Summary && slices.Equal(head.Tags, p.Tags) && slices.Equal(head.Parents, p.Parents)
	return Published{Artifact: head, Existing: same}, nil
}

// sameBody reports whether two publishes point at the same bytes, as far as
// their records tell.
func sameBody(a, b *ArtifactPublished) bool {
	if a.Digest != (Digest{}) || b.Digest != (Digest{}) {
		return a.Digest == b.Digest
	}
	sameSize := a.SizeBytes == b.SizeBytes || a.SizeBytes != nil && b.SizeBytes != nil && *a.SizeBytes == *b.SizeBytes
	return a.Path == b.Path && sameSize
}

// answer returns the view of a record that was just appended. Another publish
// under its key may have come first; then that one is the answer, or refuses it.
func (h *Hub) answer(ctx context.Context, r Record, p *ArtifactPublished, warnings []string) (Published, error) {
	if p.Key != "" {
		first, err := h.settle(ctx, p)
		if errors.Is(err, Conflict) || first.Existing && first.ID != r.ID {
			return first, err
		}
	}
	a, err := h.index.Artifact(ctx, r.ID)
	if err != nil { // the index is behind; the record stands all the same
		a = Artifact{Record: r, ArtifactPublished: *p, Status: Active}
	}
	list := []Artifact{h.place(a)}
	h.statAll(ctx, list)
	return Published{Artifact: list[0], Warnings: warnings}, nil
}

func (p *ArtifactPublished) warnings() []string {
	list := slices.Concat(looksSecret("title", p.Title), looksSecret("summary", p.Summary), looksSecret("metadata", string(p.Metadata)))
	if p.SizeBytes != nil && *p.SizeBytes == 0 {
		list = append(list, "the body is empty")
	}
	return list
}

// Withdraw records that an artifact no longer stands; nothing is deleted, and
// what it replaced stands again. An artifact that was withdrawn before stays
// as it is, and no record is added.
//
// Kinds: NotFound, Invalid (the reason), and those of Log.Append.
func (h *Hub) Withdraw(ctx context.Context, id, why string) (Published, error) {
	a, err := h.Artifact(ctx, id)
	if err != nil {
		return Published{}, err
	}
	if a.Status == Withdrawn {
		return Published{Artifact: a, Existing: true}, nil
	}
	why = oneLine(why)
	if err := checkText("reason", why, MaxSummary); err != nil {
		return Published{}, err
	}
	r, err := h.record(&ArtifactWithdrawn{ArtifactID: id, Reason: why})
	if err != nil {
		return Published{}, err
	}
	_, warnings, err := h.append(ctx, r)
	if err != nil {
		return Published{}, err
	}
	a.Status = Withdrawn // if the index is behind, that much is known
	if view, err := h.Artifact(ctx, id); err == nil {
		a = view
	}
	return Published{Artifact: a, Warnings: append(warnings, looksSecret("reason", why)...)}, nil
}

// Use records that the producer's work looked at an artifact, once. Outside a
// run and a session nothing is recorded.
func (h *Hub) Use(ctx context.Context, a Artifact) error {
	p := h.producer
	if p.RunID == "" && p.Session == "" || slices.Contains(a.UsedBy, Use{p.Harness, p.WorkID}) {
		return nil
	}
	r, err := h.record(&ArtifactUsed{ArtifactID: a.ID})
	if err == nil {
		_, _, err = h.append(ctx, r)
	}
	return err
}
