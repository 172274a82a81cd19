package candidates

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/diff"
	"github.com/agent-handoff/handoff/session"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/trace"
)

// A CandidateCost is what an artifact cost, in US dollars.
type CandidateCost struct {
	USD     float64 `json:"usd"`
	AtLeast bool    `json:"atLeast,omitempty"` // a part is not known or has no price
}

// CostsOf returns the costs of artifacts that rows of a cost report have, by ID.
func CostsOf(rows []trace.CostRow) map[string]CandidateCost {
	costs := map[string]CandidateCost{}
	for _, r := range rows {
		if r.Amount.Cost != nil {
			costs[r.Key] = CandidateCost{*r.Amount.Cost, r.Amount.Completeness != thread.Exact || len(r.Amount.Unpriced) > 0}
		}
	}
	return costs
}

// A Candidate is an artifact beside those that compete with it. What is not known is nil or
// "".
type Candidate struct {
	Artifact handoff.Artifact `json:"artifact"`
	By       string           `json:"by"`    // the agent or, without one, the program
	Group    int              `json:"group"` // the candidates of one group compete with each other

	Files   *int           `json:"files,omitempty"` // that a patch changes, or a directory has
	Added   *int           `json:"added,omitempty"` // lines, of a patch
	Removed *int           `json:"removed,omitempty"`
	Tests   string         `json:"tests,omitempty"`  // verified, stale, asserted or failed
	Review  string         `json:"review,omitempty"` // approved, changes_requested or review_asked
	Cost    *CandidateCost `json:"cost,omitempty"`
}

// A CandidateList has candidates side by side, or two sessions.
type CandidateList struct {
	Candidates []Candidate         `json:"candidates"`
	Sessions   *session.Comparison `json:"sessions,omitempty"`
	Warnings   []string            `json:"warnings,omitempty"`
}

// Compare compares the artifacts that refs name; with one ref, those that Of returns for it;
// without any, all that compete. Two refs of sessions are compared as Sessions.Compare does.
//
// Kinds: those of Workspace.Resolve, and of Sessions.Compare.
func (c Candidates) Compare(ctx context.Context, refs []string) (CandidateList, error) {
	done := CandidateList{Candidates: []Candidate{}}
	groups, err := c.groups(ctx, refs)
	if len(refs) == 2 && errors.Is(err, handoff.NotFound) {
		sessions, other := c.o.Sessions(ctx, refs[0], refs[1])
		if other == nil {
			done.Sessions = &sessions
			return done, nil
		}
		if strings.Contains(refs[0], "#") || strings.HasPrefix(refs[1], "#") || !errors.Is(other, handoff.NotFound) {
			err = other
		}
	}
	if err != nil {
		return done, err
	}
	for i, group := range groups {
		for _, a := range group {
			done.Candidates = append(done.Candidates, c.candidate(ctx, a, i+1))
		}
	}
	if len(done.Candidates) == 0 {
		return done, nil
	}
	costs, warnings, err := c.o.Costs(ctx)
	if err != nil {
		warnings = append(warnings, "the costs are not known: "+err.Error())
	}
	done.Warnings = warnings
	for i, d := range done.Candidates {
		if cost, ok := costs[d.Artifact.ID]; ok {
			done.Candidates[i].Cost = &cost
		}
	}
	return done, ctx.Err()
}

// groups returns the artifacts to compare, in groups.
func (c Candidates) groups(ctx context.Context, refs []string) (groups [][]handoff.Artifact, err error) {
	switch len(refs) {
	case 0:
		page, err := c.c.Hub.Artifacts(ctx, handoff.ArtifactQuery{Competing: true, Limit: maxCandidates})
		if err != nil {
			return nil, err
		}
		c.by.Attribute(ctx, page.Artifacts...)
		of := map[string]int{} // the group of each, by ID
		for _, a := range page.Artifacts {
			i, ok := of[a.ID]
			if !ok {
				i, groups = len(groups), append(groups, nil)
				for _, other := range a.Competing {
					of[other] = i
				}
			}
			groups[i] = append(groups[i], a)
		}
		return groups, nil
	case 1:
		list, err := c.Of(ctx, refs[0])
		return [][]handoff.Artifact{list}, err
	}
	var ids []string
	for _, ref := range refs {
		id, err := c.c.Resolve(ctx, ref)
		if err != nil {
			return nil, err
		}
		ids = add(ids, []string{id})
	}
	list, err := c.load(ctx, ids)
	return [][]handoff.Artifact{list}, err
}

func (c Candidates) candidate(ctx context.Context, a handoff.Artifact, group int) Candidate {
	d := Candidate{Artifact: a, By: maker(a.PublishedBy()), Group: group}
	switch verdict, _, ok := fold.Recorded(a); {
	case ok && verdict == handoff.VerdictContradicted:
		d.Tests = "failed"
	case ok:
		d.Tests = string(verdict)
	}
	for _, n := range a.Notices() {
		switch n.Code {
		case handoff.NoticeApproved, handoff.NoticeChangesRequested, handoff.NoticeReviewAsked:
			if d.Review == "" {
				d.Review = string(n.Code)
			}
		}
	}
	if body, err := c.c.Hub.Open(ctx, a.ID); err == nil {
		if a.IsDirectory() {
			d.Files = filesOf(body)
		} else if s, ok := statOf(body); ok {
			d.Files, d.Added, d.Removed = &s.files, &s.added, &s.removed
		}
		body.Close()
	}
	return d
}

// maker names who produced something: the agent, or the program.
func maker(p handoff.Producer) string {
	if p.Agent == "" && p.Harness != "unknown" {
		return p.Harness
	}
	return p.Agent
}

// filesOf counts the files of a directory, nil if it can't be read.
func filesOf(body io.Reader) *int {
	n := 0
	for r := tar.NewReader(body); ; {
		h, err := r.Next()
		switch {
		case err == io.EOF:
			return &n
		case err != nil:
			return nil
		case h.Typeflag == tar.TypeReg:
			n++
		}
	}
}

// A stat is what a patch changes.
type stat struct{ files, added, removed int }

// statOf returns what a unified diff changes. ok is false for another text, and for a patch that is
// too large.
func statOf(body io.Reader) (s stat, ok bool) {
	text, err := io.ReadAll(io.LimitReader(body, maxPatch+1))
	if err != nil || len(text) > maxPatch {
		return s, false
	}
	var file *diff.File
	for l := range diff.Lines(string(text), false) {
		if l.File != nil && l.File != file {
			s.files++
			file = l.File
		}
		switch l.Kind {
		case diff.Added:
			s.added++
		case diff.Removed:
			s.removed++
		}
	}
	return s, s.files > 0
}

// maxPatch limits the bytes of a patch.
const maxPatch = 16 << 20
