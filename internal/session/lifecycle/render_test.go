package lifecycle

import (
	"errors"
	"iter"
	"strconv"
	"testing"
)

// A writer appends a record and then renders, one step at a time: append, read
// the log, replace the file.
type writer struct {
	phase string // its next step
	text  string // what it computed last
	step  func() (struct{}, bool)
	stop  func()
}

// A world has the number of records in the log, and the number that the file
// includes.
type world struct {
	log, file int
	writers   []*writer
}

func newWorld(writers int) *world {
	w := &world{}
	for range writers {
		one := &writer{}
		one.step, one.stop = iter.Pull(w.run(one))
		one.step() // stops before its first step
		w.writers = append(w.writers, one)
	}
	return w
}

var errStopped = errors.New("stopped")

func (w *world) run(one *writer) iter.Seq[struct{}] {
	return func(yield func(struct{}) bool) {
		next := func(phase string) error {
			if one.phase = phase; !yield(struct{}{}) {
				return errStopped
			}
			return nil
		}
		if next("append") != nil {
			return
		}
		w.log++
		renderUntilStable(
			func() ([]byte, error) {
				if err := next("read"); err != nil {
					return nil, err
				}
				one.text = strconv.Itoa(w.log)
				return []byte(one.text), nil
			},
			func(text []byte) error {
				if err := next("replace"); err != nil {
					return err
				}
				w.file, _ = strconv.Atoi(string(text))
				return nil
			},
		)
		one.phase = ""
	}
}

// state returns everything that the next steps depend on.
func (w *world) state() string {
	s := strconv.Itoa(w.log) + "/" + strconv.Itoa(w.file)
	for _, one := range w.writers {
		s += " " + one.phase + one.text
	}
	return s
}

// TestNeverStale runs the steps of three writers in every order: when all are
// done, the file includes the whole log.
func TestNeverStale(t *testing.T) {
	const writers = 3
	seen := map[string]bool{}
	ends := 0
	for todo := [][]int{nil}; len(todo) > 0; todo = todo[1:] {
		schedule := todo[0]
		w := newWorld(writers)
		for _, i := range schedule {
			w.writers[i].step()
		}
		if state := w.state(); !seen[state] {
			seen[state] = true
			ended := true
			for i, one := range w.writers {
				if one.phase != "" {
					ended = false
					todo = append(todo, append(schedule[:len(schedule):len(schedule)], i))
				}
			}
			if ended {
				ends++
				if w.log != writers || w.file != writers {
					t.Fatalf("order %v: the file includes %d of %d records", schedule, w.file, w.log)
				}
			}
		}
		for _, one := range w.writers {
			one.stop()
		}
	}
	if ends == 0 || len(seen) < 100 {
		t.Errorf("%d ends in %d states, want more", ends, len(seen))
	}
	t.Logf("%d states, %d of them ends", len(seen), ends)
}
