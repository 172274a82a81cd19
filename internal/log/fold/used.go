package fold

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
)

// UserSpace is the space of pointers to the first use of an artifact by a unit of work.
// The key has the ID of the artifact, the harness and the ID of the work; the value has
// what queries select users by: the agent, the session and the run.
const UserSpace = "user"

// usesSpace is the space of the lines of uses of an artifact.
const usesSpace = "uses"

// linesTogether is how many lines about an artifact one pointer has: so many that reading
// them takes few pointers, and so few that adding one costs the same, however many there
// are.
const linesTogether = 32

func linesKey(id string, n int) string { return id + "\x00" + strconv.Itoa(n/linesTogether) }

// putLine adds line number n, from 0, about an artifact to a space.
func putLine(k Keeper, space, id string, n int, line string) error {
	key := linesKey(id, n)
	list, err := k.Pointer(space, key)
	if err != nil {
		return err
	}
	return k.PutPointer(space, key, list+line+"\n")
}

// lines yields the first n lines about an artifact in a space.
func lines(s Store, space, id string, n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for first := 0; first < n; first += linesTogether {
			text, err := s.Pointer(space, linesKey(id, first))
			if err != nil {
				yield("", err)
				return
			}
			for line := range strings.Lines(text) {
				if !yield(line, nil) {
					return
				}
			}
		}
	}
}

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
	if err := putLine(k, usesSpace, a.ID, a.Uses, string(use)); err != nil {
		return err
	}
	a.Uses++
	return k.PutArtifact(a)
}

// uses returns the work that used an artifact, in the order of the log.
func uses(s Store, a *ArtifactState) (list []handoff.Use, err error) {
	for line, err := range lines(s, usesSpace, a.ID, a.Uses) {
		var u handoff.Use
		if err == nil {
			err = json.Unmarshal([]byte(line), &u)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, nil
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
