package fold

import (
	"encoding/json"
	"io/fs"
	"path"

	"github.com/agent-handoff/handoff"
)

// moveSpace is the space of pointers from a path to the moves from that path, in
// the order of the log. The pointer "" is set once there is any move.
const moveSpace = "moved"

// A move is one PathMoved in the pointers of a store.
type move struct {
	Seq handoff.Seq `json:"seq"`
	To  string      `json:"to"`
}

func foldMoved(k Keeper, r handoff.Record, f *handoff.PathMoved) error {
	if !fs.ValidPath(f.From) || !fs.ValidPath(f.To) || f.To == "." {
		return nil // it leads out of the workspace
	}
	moves, err := movesFrom(k, f.From)
	if err != nil {
		return err
	}
	b, err := handoff.EncodeJSON(append(moves, move{r.Seq, f.To}))
	if err != nil {
		return err
	}
	if err := k.PutPointer(moveSpace, f.From, string(b)); err != nil {
		return err
	}
	return k.PutPointer(moveSpace, "", "any")
}

func movesFrom(s Store, name string) ([]move, error) {
	text, err := s.Pointer(moveSpace, name)
	if err != nil || text == "" {
		return nil, err
	}
	var moves []move
	return moves, json.Unmarshal([]byte(text), &moves)
}

// currentPath returns the path, after all moves, of a file that had the given
// path at seq.
func currentPath(s Store, file string, seq handoff.Seq) (string, error) {
	if moved, err := s.Pointer(moveSpace, ""); err != nil || moved == "" {
		return file, err
	}
	for {
		next, from, err := nextMove(s, file, seq)
		if err != nil || next.Seq == 0 {
			return file, err
		}
		file, seq = next.To+file[len(from):], next.Seq
	}
}

// nextMove returns the first move after seq of a path or of a directory that
// contains it, and that path or directory.
func nextMove(s Store, file string, seq handoff.Seq) (next move, from string, err error) {
	for at := file; at != "." && at != "/"; at = path.Dir(at) {
		moves, err := movesFrom(s, at)
		if err != nil {
			return move{}, "", err
		}
		for _, m := range moves {
			if m.Seq > seq && (next.Seq == 0 || m.Seq < next.Seq) {
				next, from = m, at
			}
		}
	}
	return next, from, nil
}
