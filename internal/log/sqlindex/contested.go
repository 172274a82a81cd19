package sqlindex

import "github.com/agent-handoff/handoff/internal/log/fold"

func (k *keeper) Join(into, from string) error {
	for _, a := range k.artifacts {
		if a != nil && a.Published != nil && a.Family == from {
			a.Family = into
		}
	}
	k.joined.add(into)
	k.joined.add(from)
	return k.exec(`UPDATE artifacts SET family = ? WHERE family = ?`, into, from)
}

func (k *keeper) Contest(into string, a *fold.ArtifactState) error {
	column, from := "family", a.Family
	if a.Contested != "" {
		column, from = "contest", a.Contested
	}
	for _, b := range k.artifacts {
		if b != nil && b.Published != nil && b.Group() == from {
			b.Contested = into
		}
	}
	k.joined.add(into)
	k.joined.add(from)
	return k.exec(`UPDATE artifacts SET contest = ? WHERE `+column+` = ?`, into, from)
}

// writeContested stores whether several artifacts of a group are active.
func (k *keeper) writeContested(group string) error {
	if err := k.exec(`DELETE FROM contested WHERE family = ?`, group); err != nil {
		return err
	}
	return k.exec(`INSERT INTO contested SELECT ?1 WHERE
		1 < (SELECT count(*) FROM artifacts WHERE family = ?1 AND contest IS NULL AND status = 'active') OR
		1 < (SELECT count(*) FROM artifacts WHERE contest = ?1 AND status = 'active')`, group)
}
