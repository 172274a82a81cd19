package handoff

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
)

// The labels that are reserved: CHANNEL:latest is the newest active artifact, and
// CHANNEL:approved the newest active one that somebody else than its author approved.
const (
	LatestLabel   = "latest"
	ApprovedLabel = "approved"
)

// MaxLabels is the number of labels that an artifact can have at a time.
const MaxLabels = 100

var revisionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^v[0-9]+$`) })

// CheckLabel returns an error of kind Invalid unless a label consists of at most
// 200 lower-case letters and digits in words separated by single dashes. LatestLabel
// and v with a number, which names a revision, are reserved. ApprovedLabel, which
// queries may have, is refused by Label.
func CheckLabel(label string) error {
	e := E("label", label, Invalid, nil, Advice("use a word such as chosen or release-candidate"))
	switch {
	case len(label) > maxWord:
		e.Name, e.Err = label[:maxWord]+"…", errors.New("has more than 200 characters")
	case !channelForm().MatchString(label):
		e.Err = errors.New("must be lower-case words separated by dashes")
	case label == LatestLabel, revisionForm().MatchString(label):
		e.Err = errors.New("is reserved")
	default:
		return nil
	}
	return e
}

// Label records that a label of the artifact's channel is moved to the artifact, or that
// it is removed from the artifact. If the artifact has the label already, no record is
// added.
//
// Kinds: NotFound (the artifact; to remove, it does not have the label), Invalid (the
// label), and those of Log.Append.
func (h *Hub) Label(ctx context.Context, id, label string, remove bool) (Published, error) {
	if !remove {
		if err := CheckLabel(label); err != nil {
			return Published{}, err
		}
		if label == ApprovedLabel {
			return Published{}, E("label", label, Invalid, errors.New("is reserved for what a review approved"),
				Suggest("approve it", ActionApprove, id))
		}
	}
	a, err := h.Artifact(ctx, id)
	has := slices.Contains(a.Labels, label)
	switch {
	case err != nil:
		return Published{}, err
	case remove && !has:
		return Published{}, E("unlabel", label, NotFound, errors.New(id+" does not have it"),
			Suggest("see its labels", ActionShow, id))
	case has && !remove:
		return Published{Artifact: a, Existing: true}, nil
	case len(a.Labels) >= MaxLabels && !remove:
		return Published{}, E("label", id, Invalid, errors.New("has 100 labels"), Advice("use tags when you publish"))
	}
	return h.label(ctx, a, &ArtifactLabeled{ArtifactID: id, Label: label, Removed: remove})
}

func (h *Hub) label(ctx context.Context, a Artifact, f *ArtifactLabeled) (Published, error) {
	r, err := h.record(f)
	if err != nil {
		return Published{}, err
	}
	_, warnings, err := h.append(ctx, r)
	if err != nil {
		return Published{}, err
	}
	if view, err := h.Artifact(ctx, a.ID); err == nil { // otherwise the index is behind the log
		a = view
	}
	return Published{Artifact: a, Warnings: warnings}, nil
}
