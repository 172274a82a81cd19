package fold

import (
	"slices"

	"github.com/agent-handoff/handoff"
)

// maxLabelings is the number of changes of labels that the view of an artifact has.
// The log has all of them.
const maxLabelings = 100

// foldLabeled moves a label within its channel. It ignores a label that is not
// valid, one that is removed from an artifact that does not have it, and one of an
// import that an artifact from elsewhere has.
func foldLabeled(k Keeper, r handoff.Record, f *handoff.ArtifactLabeled) error {
	a, err := k.Artifact(f.ArtifactID)
	if err != nil || !a.known() || handoff.CheckLabel(f.Label) != nil {
		return err
	}
	key := a.Published.Channel + "\x00" + f.Label
	holder, err := k.Pointer(labelSpace, key)
	if err != nil || (holder == a.ID) != f.Removed || (!f.Removed && len(a.Labels) >= handoff.MaxLabels) {
		return err
	}
	if holder != "" {
		b, err := k.Artifact(holder) // a itself, if the label is removed
		if err != nil {
			return err
		}
		if r.Import != "" && b.Record.Import != r.Import {
			return nil // the label is in use here
		}
		b.changeLabel(r, f.Label, true)
		if err := k.PutArtifact(b); err != nil {
			return err
		}
	}
	if f.Removed {
		return k.PutPointer(labelSpace, key, "")
	}
	a.changeLabel(r, f.Label, false)
	if err := k.PutArtifact(a); err != nil {
		return err
	}
	return k.PutPointer(labelSpace, key, a.ID)
}

// changeLabel gives an artifact a label, or takes it away.
func (a *ArtifactState) changeLabel(r handoff.Record, label string, removed bool) {
	if removed {
		a.Labels = slices.DeleteFunc(a.Labels, func(l string) bool { return l == label })
	} else {
		a.Labels = append(a.Labels, label)
	}
	a.LabelHistory = append(a.LabelHistory, handoff.Labeling{Label: label, Removed: removed, CreatedAt: r.CreatedAt,
		Agent: r.Producer.Agent, Session: r.Producer.Session})
	if n := len(a.LabelHistory); n > maxLabelings {
		a.LabelHistory = slices.Delete(a.LabelHistory, 0, n-maxLabelings)
	}
}
