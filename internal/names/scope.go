package names

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/agent-handoff/handoff"
)

// A Scope says whose names are meant: those of a run, or of a session where
// there is no run.
type Scope struct {
	Session string
	Run     string
	Dir     string // the session's directory, absolute; "" where none is known
	Within  string // a directory that no symbolic link on the way to Dir may leave; "" where Dir was named by who may

	// Folders lead from Dir to the files of the namespace; nil for artifacts,
	// and the namespace's own in it.
	Folders []string
}

// Namespace returns the id that owns the scope's names. Its kind is Invalid
// where there is neither run nor session.
func (s Scope) Namespace() (string, error) {
	if id := cmp.Or(s.Run, s.Session); id != "" {
		return id, nil
	}
	return "", &handoff.Error{Op: "name", Kind: handoff.Invalid, Err: errors.New("there is no run or session that it would belong to"),
		Hint: handoff.Advice("say which with --run ID, or set HANDOFF_RUN or HANDOFF_SESSION")}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
