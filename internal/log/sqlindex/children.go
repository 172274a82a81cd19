package sqlindex

import (
	"slices"

	"github.com/agent-handoff/handoff/internal/log/fold"
	"github.com/agent-handoff/handoff/internal/tool/sqlite"
)

// madeFrom selects the labels of artifacts that were made from others, by the ID of such a one.
const madeFrom = ` FROM labels l CROSS JOIN artifacts a ON a.seq = l.seq WHERE l.space IN ('` + parentSpace +
	`', '` + inputSpace + `') AND l.value`

// Children implements fold.Finder. It finds what was put and not flushed, too.
func (k *keeper) Children(id string) ([]string, error) {
	ids := slices.Clone(k.children[id])
	var err error
	if !k.childless[id] {
		err = k.load(`SELECT a.id`+madeFrom+` = ?`, func(r *sqlite.Row) error {
			ids = append(ids, r.Text())
			return nil
		}, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// addChild notes what an artifact was made from.
func (k *keeper) addChild(a *fold.ArtifactState) {
	for _, id := range slices.Concat(a.Inputs, a.Known) {
		if !slices.Contains(k.children[id], a.ID) {
			k.children[id] = append(k.children[id], a.ID)
		}
	}
}

// prefetchChildless finds the artifacts that nothing was made from so far.
func (k *keeper) prefetchChildless(ids []string) error {
	for _, id := range ids {
		k.childless[id] = true
	}
	return k.loadAll(`SELECT l.value`+madeFrom, func(r *sqlite.Row) error {
		delete(k.childless, r.Text())
		return nil
	}, ids)
}
