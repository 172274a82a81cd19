package names

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/agent-handoff/handoff"
)

// A Scope selects a namespace: that of a run, or of a session if there is no
// run.
type Scope struct {
	Session string
	Run     string
	Dir     string // the session's directory, absolute; "" if unknown
	Within  string // the directory that must contain Dir after links are resolved; "" if the user named Dir

	// Folders is the path from Dir to the files of the namespace; nil for the
	// default, artifacts/<namespace>.
	Folders []string
}

// Namespace returns the ID of the namespace. Error kind: Invalid if there is
// neither run nor session.
func (s Scope) Namespace() (string, error) {
	if id := cmp.Or(s.Run, s.Session); id != "" {
		return id, nil
	}
	return "", handoff.E("find namespace", "", handoff.Invalid, errors.New("no run or session is set"),
		handoff.Advice("name a run or session").OrSet("HANDOFF_RUN or HANDOFF_SESSION"))
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
