package fold

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
)

// UserSpace is the space of pointers to the first use of an artifact by a unit of work.
// The key has the ID of the artifact, the harness and the ID of the work; the value has
// what queries select users by: the agent, the session and the run.
const UserSpace = "user"

// usesSpace is the space of pointers to the uses of an artifact, as lines of JSON, by
// its ID and a number: so many are together that reading them takes few pointers, and
// so few that adding one costs the same, however many there are.
const (
	usesSpace    = "uses"
	usesTogether = 32
)

func usesKey(id string, n int) string { return id + "\x00" + strconv.Itoa(n/usesTogether) }

func userKey(id string, p handoff.Producer) string {
	return id + "\x00" + p.Harness + "\x00" + p.WorkID
}

func foldUsed(k Keeper, p handoff.Producer, f *handoff.ArtifactUsed) error {
	user := userKey(f.ArtifactID, p)
	if known, err := k.Pointer(UserSpace, user); err != nil || known != "" {
		return err
	}
	if err := k.PutPointer(UserSpace, user, p.Agent+"\x00"+p.Session+"\x00"+p.RunID); err != nil {
		return err
	}
	a, err := k.Artifact(f.ArtifactID)
	if err != nil {
		return err
	}
	if a == nil {
		a = &ArtifactState{ID: f.ArtifactID}
	}
	use, err := handoff.EncodeJSON(handoff.Use{Harness: p.Harness, WorkID: p.WorkID, Agent: p.Agent, Session: p.Session,
		RunID: p.RunID})
	if err != nil {
		return err
	}
	key := usesKey(a.ID, a.Uses)
	list, err := k.Pointer(usesSpace, key)
	if err != nil {
		return err
	}
	if err := k.PutPointer(usesSpace, key, list+string(use)+"\n"); err != nil {
		return err
	}
	a.Uses++
	return k.PutArtifact(a)
}

// uses returns the work that used an artifact, in the order of the log.
func uses(s Store, a *ArtifactState) (list []handoff.Use, err error) {
	for n := 0; n < a.Uses; n += usesTogether {
		text, err := s.Pointer(usesSpace, usesKey(a.ID, n))
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(text) {
			var u handoff.Use
			if err := json.Unmarshal([]byte(line), &u); err != nil {
				return nil, err
			}
			list = append(list, u)
		}
	}
	return list, nil
}

// isUsedBy reports whether an agent, session or run used an artifact.
func isUsedBy(s Store, a *ArtifactState, user string) bool {
	list, err := uses(s, a)
	return err == nil && slices.ContainsFunc(list, func(u handoff.Use) bool {
		return user == u.Agent || user == u.Session || user == u.RunID
	})
}

// Readers returns how often other work than that of its producer used an artifact.
func Readers(s Store, a *ArtifactState) (int, error) {
	if p := a.Record.Producer; a.Uses > 0 && p.WorkID != "" {
		if own, err := s.Pointer(UserSpace, userKey(a.ID, p)); err != nil || own != "" {
			return a.Uses - 1, err
		}
	}
	return a.Uses, nil
}
