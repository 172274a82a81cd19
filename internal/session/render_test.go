package session

import (
	"errors"
	"iter"
	"strconv"
	"testing"
)

// A writer appends a record and then renders, one step at a time: an append, a
// look at the log, a replacement of the file.
type writer struct {
	phase string // what it does next
	text  string // what it saw last
	step  func() (struct{}, bool)
	stop  func()
}

// A world is a log that has so many records, and a file that shows so many.
type world struct {
	log, file int
	writers   []*writer
}

func newWorld(writers int) *world {
	w := &world{}
	for range writers {
		one := &writer{}
		one.step, one.stop = iter.Pull(w.life(one))
		one.step() // up to its first step
		w.writers = append(w.writers, one)
	}
	return w
}

var errStopped = errors.New("stopped")

func (w *world) life(one *writer) iter.Seq[struct{}] {
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
		settle(
			func() ([]byte, error) {
				if err := next("look"); err != nil {
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

// state is all that what happens next depends on.
func (w *world) state() string {
	s := strconv.Itoa(w.log) + "/" + strconv.Itoa(w.file)
	for _, one := range w.writers {
		s += " " + one.phase + one.text
	}
	return s
}

// TestNeverStale lets three writers, each of which appends a record and then
// renders, take their steps in every order. In whatever order: once all are
// done, the file shows the whole log.
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
					t.Fatalf("order %v leaves the file at %d of %d records", schedule, w.file, w.log)
				}
			}
		}
		for _, one := range w.writers {
			one.stop()
		}
	}
	if ends == 0 || len(seen) < 100 {
		t.Errorf("%d ends in %d states: too few to mean anything", ends, len(seen))
	}
	t.Logf("%d states, %d of them ends", len(seen), ends)
}
