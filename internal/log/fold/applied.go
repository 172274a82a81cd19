package fold

import (
	"cmp"
	"slices"

	"github.com/agent-handoff/handoff"
)

// maxApplied is the number of applications that the view of an artifact has.
const maxApplied = 100

// foldApplied adds an application to an artifact. An import adds only to what it brought.
func foldApplied(k Keeper, r handoff.Record, f *handoff.ArtifactApplied) error {
	a, err := k.Artifact(f.ArtifactID)
	if err != nil || !a.known() || (r.Import != "" && r.Import != a.Record.Import) {
		return err
	}
	a.Applied = append(a.Applied, handoff.Application{Commit: f.Commit, By: cmp.Or(f.User, nameOf(r.Producer)),
		CreatedAt: r.CreatedAt})
	if n := len(a.Applied); n > maxApplied {
		a.Applied = slices.Delete(a.Applied, 0, n-maxApplied)
	}
	return k.PutArtifact(a)
}
