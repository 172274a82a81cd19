package fold

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"

	"github.com/agent-handoff/handoff"
)

// The spaces of pointers of moves.
const (
	moveSpace   = "moved"   // by path: the moves from it, in the order of the log
	originSpace = "origins" // by path: the paths from which something was moved to it
	anySpace    = "any"     // by moveSpace: set once there is a move
)

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
	origins, err := originsOf(k, f.To)
	if err != nil {
		return err
	}
	if !slices.Contains(origins, f.From) {
		if b, err = handoff.EncodeJSON(append(origins, f.From)); err != nil {
			return err
		}
		if err := k.PutPointer(originSpace, f.To, string(b)); err != nil {
			return err
		}
	}
	return k.PutPointer(anySpace, moveSpace, "any")
}

func originsOf(s Store, name string) ([]string, error) {
	text, err := s.Pointer(originSpace, name)
	if err != nil || text == "" {
		return nil, err
	}
	var origins []string
	return origins, json.Unmarshal([]byte(text), &origins)
}

// RecordedPaths returns the paths and every path from which a file may have been
// moved to one of them.
func RecordedPaths(s Store, paths []string) ([]string, error) {
	paths = slices.Clone(paths)
	if moved, err := s.Pointer(anySpace, moveSpace); err != nil || moved == "" {
		return paths, err
	}
	for i := 0; i < len(paths) && i < maxOrigins; i++ {
		for at := paths[i]; at != "." && at != "/"; at = path.Dir(at) {
			origins, err := originsOf(s, at)
			if err != nil {
				return nil, err
			}
			for _, from := range origins {
				if was := from + paths[i][len(at):]; !slices.Contains(paths, was) {
					paths = append(paths, was)
				}
			}
		}
	}
	return paths, nil
}

// maxOrigins limits the search for earlier paths: moves of directories into each
// other have no end of them.
const maxOrigins = 1000

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
	if moved, err := s.Pointer(anySpace, moveSpace); err != nil || moved == "" {
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
