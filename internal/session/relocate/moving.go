package relocate

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
)

// Moves returns a function that returns the path of a file in a session's folder that is
// being moved, as it is after the move, "" if no such folder contains it.
func Moves(ctx context.Context, index handoff.Index) func(file string) string {
	page, err := index.Sessions(ctx, handoff.SessionQuery{Moving: true, IncludeArchived: true})
	return func(file string) string {
		for _, s := range page.Sessions {
			if name, inside := strings.CutPrefix(file, s.Folder+"/"); inside && err == nil {
				return path.Join(s.MovingTo, name)
			}
			if name, inside := strings.CutPrefix(file, s.MovingTo+"/"); inside && err == nil { // of an import
				return path.Join(s.Folder, name)
			}
		}
		return ""
	}
}

func (m *Mover) moving(ctx context.Context) (handoff.SessionPage, error) {
	return m.Hub.Sessions(ctx, handoff.SessionQuery{Moving: true, IncludeRuns: true, IncludeArchived: true})
}

// FormerFolder returns the folder in the archive or the trash, of a session that was
// opened in folder, that a file is in; "" if it is in none.
func FormerFolder(folder, file string) string {
	rest, ok := strings.CutPrefix(file, path.Dir(folder)+"/")
	if !ok {
		return ""
	}
	elements := strings.Split(rest, "/")
	at := slices.Index(elements, path.Base(folder))
	if at < 0 { // its name was taken
		at = slices.IndexFunc(elements, func(e string) bool { return strings.HasPrefix(e, path.Base(folder)+".") })
	}
	if at == 2 && elements[0] == archiveDir || at == 1 && elements[0] == trashDir {
		return path.Join(path.Dir(folder), path.Join(elements[:at+1]...))
	}
	return ""
}
