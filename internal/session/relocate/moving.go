package relocate

import (
	"context"
	"path"
	"strings"

	"github.com/agent-handoff/handoff"
)

// MovingTo returns the path of a file in a session's folder that is being moved, as
// it is after the move, "" if no such folder contains it.
func MovingTo(ctx context.Context, index handoff.Index, file string) string {
	page, err := index.Sessions(ctx, handoff.SessionQuery{Moving: true, IncludeArchived: true})
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
