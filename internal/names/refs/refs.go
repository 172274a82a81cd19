// Package refs resolves refs: the texts by which a caller names an artifact.
//
// A ref is, in this order:
//
//   - the ID of an artifact;
//   - run/name or a name, as package names finds it;
//   - the path of a published file or directory: its newest artifact;
//   - CHANNEL:latest, the newest active artifact of a channel; CHANNEL:LABEL, the
//     one that has a label; CHANNEL:v2, the one that is the second revision of its
//     family; and REF@v2, the second revision of what REF names;
//   - the first or last characters of an ID, at least six.
//
// The first of these with a match decides. If it has several matches, the ref is
// ambiguous: the caller never gets a guess.
package refs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/names"
)

// A Resolver resolves refs for one caller.
type Resolver struct {
	Reader handoff.Reader
	Scope  names.Scope // of the caller's names
	Dir    string      // the directory that relative paths start at, absolute
}

// Find returns what a ref names, which may be a file without a record. For the ID
// of an artifact, it returns the ID alone, without a query.
//
// Kinds: NotFound, Conflict (several match; the hint lists them), Invalid.
func (r Resolver) Find(ctx context.Context, ref string) (names.Candidate, error) {
	list, err := r.candidates(ctx, ref)
	switch {
	case err != nil:
		return names.Candidate{}, err
	case len(list) > 1:
		return names.Candidate{}, ambiguous(ref, list)
	}
	return list[0], nil
}

// Latest is Find, but returns the newest match in log order if several match.
func (r Resolver) Latest(ctx context.Context, ref string) (names.Candidate, error) {
	list, err := r.candidates(ctx, ref)
	if err != nil {
		return names.Candidate{}, err
	}
	return slices.MaxFunc(list, func(a, b names.Candidate) int { return int(a.Seq - b.Seq) }), nil
}

// candidates returns the matches of the first tier that has one.
func (r Resolver) candidates(ctx context.Context, ref string) ([]names.Candidate, error) {
	id, isID := idPart(ref)
	if isID && handoff.IsArtifactID(id) {
		return recorded(handoff.Artifact{Record: handoff.Record{ID: id}}), nil
	}
	list, invalid := names.Candidates(ctx, r.Reader, r.Scope, ref)
	if len(list) > 0 || invalid != nil && !errors.Is(invalid, handoff.Invalid) {
		return list, invalid
	}
	for _, tier := range []func(context.Context, string) ([]names.Candidate, error){r.atPath, r.inChannel, r.atRevision,
		r.byID} {
		list, err := tier(ctx, ref)
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
	if invalid != nil && !isPath(ref) {
		return nil, invalid
	}
	return nil, r.notFound(ctx, ref)
}

// recorded returns artifacts as candidates.
func recorded(list ...handoff.Artifact) []names.Candidate {
	candidates := make([]names.Candidate, len(list))
	for i, a := range list {
		candidates[i].Artifact = a
	}
	return candidates
}

// inChannel returns what CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL names.
func (r Resolver) inChannel(ctx context.Context, ref string) ([]names.Candidate, error) {
	q, ok := channelQuery(ref)
	if !ok {
		return nil, nil
	}
	if q.Label == handoff.ApprovedLabel {
		return r.approved(ctx, q.Channel)
	}
	q.Limit = shown + 1
	if q.Revision == 0 {
		q.Limit = 1
	}
	list, err := r.query(ctx, q)
	if err != nil || q.Revision != 0 || q.Label != "" || len(list) == 0 || list[0].Record.Import == "" {
		return list, err
	}
	return r.latestHere(ctx, q, list)
}

// approved returns the newest active artifact of a channel that somebody else than its
// author approved.
func (r Resolver) approved(ctx context.Context, channel string) ([]names.Candidate, error) {
	for q := (handoff.ArtifactQuery{Channel: channel, Discussed: true, Limit: 100}); ; {
		page, err := r.Reader.Artifacts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Artifacts {
			if a.IsApproved(handoff.RelationHuman, handoff.RelationOther, handoff.RelationLead) {
				return recorded(a), nil
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return nil, nil
		}
	}
}

// latestHere returns the newest artifact of a channel that was not imported, which
// records of others can't displace, or else what is imported.
func (r Resolver) latestHere(ctx context.Context, q handoff.ArtifactQuery,
	imported []names.Candidate) ([]names.Candidate, error) {
	for q.Limit = 100; ; {
		page, err := r.Reader.Artifacts(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Artifacts {
			if a.Record.Import == "" {
				return recorded(a), nil
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return imported, nil
		}
	}
}

// channelQuery returns the query that CHANNEL:latest, CHANNEL:v2 or CHANNEL:LABEL
// means, and false for another ref.
func channelQuery(ref string) (q handoff.ArtifactQuery, ok bool) {
	channel, name, ok := strings.Cut(ref, ":")
	if !ok || handoff.CheckChannel(channel) != nil {
		return q, false
	}
	q.Channel = channel
	if n, ok := revision(name); ok {
		q.Revision, q.IncludeInactive = n, true
		return q, true
	}
	if name != handoff.LatestLabel {
		q.Label, q.IncludeInactive = name, true
		return q, handoff.CheckLabel(name) == nil
	}
	return q, true
}

// revision returns the number in v2.
func revision(text string) (int, bool) {
	digits, ok := strings.CutPrefix(text, "v")
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n > 0 && digits[0] != '+'
}

// atRevision returns what REF@v2 names.
func (r Resolver) atRevision(ctx context.Context, ref string) ([]names.Candidate, error) {
	at := strings.LastIndexByte(ref, '@')
	n, ok := revision(ref[at+1:])
	if at < 1 || !ok {
		return nil, nil
	}
	of, err := r.Find(ctx, ref[:at])
	if err != nil {
		return nil, err
	}
	c, err := r.Revision(ctx, of, n)
	return []names.Candidate{c}, err
}

// Revision returns the revision with a number, of the name or the family of an
// artifact.
//
// Kinds: NotFound, Conflict (two families that were joined have it).
func (r Resolver) Revision(ctx context.Context, of names.Candidate, n int) (names.Candidate, error) {
	ref := fmt.Sprintf("%s@v%d", of.ID, n)
	if of.Seq == 0 && !of.Unrecorded() { // only the ID is known
		found, err := r.query(ctx, handoff.ArtifactQuery{IDPrefix: of.ID, IncludeInactive: true, Limit: 1})
		if err != nil {
			return names.Candidate{}, err
		}
		if len(found) == 0 {
			return names.Candidate{}, r.notFound(ctx, of.ID)
		}
		of = found[0]
	}
	q := handoff.ArtifactQuery{Family: of.ID}
	if of.Name != "" {
		q, ref = handoff.ArtifactQuery{Namespace: of.Namespace, Name: of.Name}, fmt.Sprintf("%s@v%d", of.Ref(), n)
	}
	q.Revision, q.IncludeInactive, q.Limit = n, true, shown+1
	list, err := r.query(ctx, q)
	switch {
	case err != nil:
		return names.Candidate{}, err
	case len(list) == 0:
		return names.Candidate{}, handoff.E("find", ref, handoff.NotFound, fmt.Errorf("has no revision %d", n),
			handoff.Suggest("list its revisions", handoff.ActionHistory, of.ID))
	case len(list) > 1:
		return names.Candidate{}, ambiguous(ref, list)
	}
	return list[0], nil
}

func (r Resolver) query(ctx context.Context, q handoff.ArtifactQuery) ([]names.Candidate, error) {
	page, err := r.Reader.Artifacts(ctx, q)
	return recorded(page.Artifacts...), err
}

// The length of the shortest prefix or suffix of an ID that is a ref, and the
// number of candidates that an error lists.
const (
	minPart = 6
	shown   = 5
)

// byID returns the artifacts whose ID begins or ends with ref. The art_ of an ID
// may be left out, and case is ignored.
func (r Resolver) byID(ctx context.Context, ref string) ([]names.Candidate, error) {
	id, ok := idPart(ref)
	if !ok || len(ref) < minPart {
		return nil, nil
	}
	queries := []handoff.ArtifactQuery{{IDPrefix: id}}
	if part := strings.TrimPrefix(id, idPrefix); len(part) == len(ref) {
		queries = append(queries, handoff.ArtifactQuery{IDSuffix: part})
	}
	var list []names.Candidate
	for _, q := range queries {
		q.IncludeInactive, q.Limit = true, shown+1
		found, err := r.query(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, c := range found {
			if !slices.ContainsFunc(list, func(b names.Candidate) bool { return b.ID == c.ID }) {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

const idPrefix = "art_"

// idPart returns a part of an ID in its canonical form, with art_ in front. It
// is false for what can't be one.
func idPart(ref string) (string, bool) {
	part := strings.ToUpper(ref)
	if len(ref) >= len(idPrefix) && strings.EqualFold(ref[:len(idPrefix)], idPrefix) {
		part = part[len(idPrefix):]
	}
	return idPrefix + part, handoff.IsArtifactIDPrefix(idPrefix + part)
}

// ambiguous is the error for a ref with several matches.
func ambiguous(ref string, list []names.Candidate) error {
	what := "ambiguous ID"
	switch {
	case slices.ContainsFunc(list, func(c names.Candidate) bool {
		return c.Name == ref || c.Ref() == ref || c.Unrecorded()
	}):
		what = "ambiguous name"
	case strings.ContainsAny(ref, ":@"):
		what = "ambiguous revision"
	}
	count := fmt.Sprint(len(list))
	if len(list) > shown {
		count = fmt.Sprintf("more than %d", shown)
	}
	var matches []string
	for _, c := range list[:min(len(list), shown)] {
		matches = append(matches, describe(c))
	}
	return handoff.E("find", ref, handoff.Conflict, fmt.Errorf("%s: %s artifacts match", what, count),
		handoff.Advice("use one of these refs: "+strings.Join(matches, "; ")))
}

// describe returns a ref of a candidate and, in parentheses, what distinguishes
// it from others.
func describe(c names.Candidate) string {
	if c.Unrecorded() {
		return c.Ref()
	}
	ref, what := c.ID, c.Label()
	if c.Name != "" {
		ref, what = c.Ref(), c.Channel
	}
	if c.Producer.Agent != "" {
		what += ", by " + c.Producer.Agent
	}
	if c.SizeBytes != nil {
		what += fmt.Sprintf(", %d bytes", *c.SizeBytes)
	}
	if c.Status != handoff.Active {
		what += ", " + string(c.Status)
	}
	return fmt.Sprintf("%s (%s, %s)", ref, what, c.CreatedAt.UTC().Format(time.RFC3339))
}
