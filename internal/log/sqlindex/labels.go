package sqlindex

import (
	"slices"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/fold"
)

// The spaces of an artifact's labels. Slots have one each.
const (
	tagSpace    = "tag"
	parentSpace = "parent"
	inputSpace  = "input" // inputs that are not parents
	labelSpace  = "label" // the labels that users set
	staleSpace  = "stale" // "true" if it has stale inputs
	rivalSpace  = "rival" // "true" if it is active and others did the same work

	discussedSpace = "discussed" // "true" if ArtifactQuery.Discussed selects it

	claimedSpace  = "claimed"  // "true" if it has claims or is an attestation
	redactedSpace = "redacted" // "true" if parts of the record may not be shown
)

func slotSpace(slot string) string { return "slot " + slot }

// eachLabel calls do with the space and the value of each of the artifact's labels.
func eachLabel(a *fold.ArtifactState, marks []mark, do func(space, value string)) {
	with := func(space, value string) {
		if value != "" {
			do(space, value)
		}
	}
	for _, tag := range a.Published.Tags {
		with(tagSpace, tag)
	}
	for _, id := range a.Published.Parents {
		with(parentSpace, id)
	}
	for _, m := range marks {
		with(m.space, m.value)
	}
	if fold.IsClaimed(a.Published) {
		with(claimedSpace, "true")
	}
	p := a.Record.Producer
	for _, slot := range labelSlots {
		with(slotSpace(slot), p.Slot(slot))
	}
	for slot, value := range p.IDs {
		if !isNamedSlot(slot) {
			with(slotSpace(slot), value)
		}
	}
}

// isNamedSlot reports whether the producer has a field of its own for a slot.
func isNamedSlot(slot string) bool {
	slot = handoff.SlotName(slot)
	return slices.Contains(labelSlots, slot) ||
		slices.ContainsFunc(columnSlots, func(c string) bool { return slotName(c) == slot })
}

// A mark is a label of an artifact that can change: its space and its value.
type mark struct{ space, value string }

// marksOf returns the labels of an artifact that depend on later records.
func marksOf(a *fold.ArtifactState) []mark {
	var list []mark
	for _, label := range a.Labels {
		list = append(list, mark{labelSpace, label})
	}
	for _, id := range slices.Concat(a.Inputs, a.Known) {
		if !slices.Contains(a.Published.Parents, id) {
			list = append(list, mark{inputSpace, id})
		}
	}
	if a.StaleInputs > 0 {
		list = append(list, mark{staleSpace, "true"})
	}
	if len(a.Rivals) > 0 && a.Status() == handoff.Active {
		list = append(list, mark{rivalSpace, "true"})
	}
	if a.IsDiscussed() {
		list = append(list, mark{discussedSpace, "true"})
	}
	if len(a.Redactions) > 0 {
		list = append(list, mark{redactedSpace, "true"})
	}
	return list
}

// writeMarks replaces the marks of an artifact, whose rows have the given status.
func (k *keeper) writeMarks(seq int64, status handoff.Status, before, now []mark) error {
	for _, m := range before {
		if !slices.Contains(now, m) {
			if err := k.exec(`DELETE FROM labels WHERE space = ? AND value = ? AND status = ? AND seq = ?`, m.space, m.value,
				string(status), seq); err != nil {
				return err
			}
		}
	}
	for _, m := range now {
		if !slices.Contains(before, m) {
			if err := k.exec(`INSERT OR IGNORE INTO labels (space, value, status, seq) VALUES (?, ?, ?, ?)`, m.space, m.value,
				string(status), seq); err != nil {
				return err
			}
		}
	}
	return nil
}
