package lifecycle

import (
	"errors"
	"iter"
	"strconv"
	"testing"

	"github.com/agent-handoff/handoff"
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
	noted     int // up to which record a rendering was noted
	writers   []*writer
}

func newWorld(writers int, notes bool) *world {
	w := &world{}
	for range writers {
		one := &writer{}
		one.step, one.stop = iter.Pull(w.run(one, notes))
		one.step() // stops before its first step
		w.writers = append(w.writers, one)
	}
	return w
}

var errStopped = errors.New("stopped")

func (w *world) run(one *writer, notes bool) iter.Seq[struct{}] {
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
		read := func() ([]byte, error) {
			if err := next("read"); err != nil {
				return nil, err
			}
			one.text = strconv.Itoa(w.log)
			return []byte(one.text), nil
		}
		replace := func(text []byte) error {
			if err := next("replace"); err != nil {
				return err
			}
			w.file, _ = strconv.Atoi(string(text))
			return nil
		}
		var note func(handoff.Seq, string) (bool, error)
		if notes {
			note = func(upTo handoff.Seq, _ string) (bool, error) {
				if err := next("note"); err != nil {
					return false, err
				}
				if w.noted > int(upTo) {
					return true, nil
				}
				w.noted = int(upTo)
				return w.log > w.noted, nil
			}
		}
		renderUntilNoted(func(noted bool) (handoff.Seq, string, error) {
			if !noted {
				return 0, "", renderUntilStable(read, replace)
			}
			text, err := read()
			if err == nil {
				err = replace(text)
			}
			upTo, _ := strconv.Atoi(string(text))
			return handoff.Seq(upTo), "", err
		}, note)
		one.phase = ""
	}
}

// state returns everything that the next steps depend on.
func (w *world) state() string {
	s := strconv.Itoa(w.log) + "/" + strconv.Itoa(w.file) + "/" + strconv.Itoa(w.noted)
	for _, one := range w.writers {
		s += " " + one.phase + one.text
	}
	return s
}

// TestNeverStale runs the steps of three writers in every order: when all are
// done, the file includes the whole log, with and without notes of what was rendered.
func TestNeverStale(t *testing.T) {
	t.Run("without notes", func(t *testing.T) { neverStale(t, false) })
	t.Run("with notes", func(t *testing.T) { neverStale(t, true) })
}

func neverStale(t *testing.T, notes bool) {
	const writers = 3
	seen := map[string]bool{}
	ends := 0
	for todo := [][]int{nil}; len(todo) > 0; todo = todo[1:] {
		schedule := todo[0]
		w := newWorld(writers, notes)
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
