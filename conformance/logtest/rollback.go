package logtest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/agent-handoff/handoff"
)

// A Rollback tests that machines notice that the store of their log was set back.
// Every function acts as a new process.
type Rollback struct {
	Publish func(machine string) error
	List    func(machine string) error // the first read of a process
	Accept  func(machine string) error // what check --repair does

	// Save copies the store, and never what a machine has of its own. The copy takes
	// the place of the store when restore is called.
	Save func() (restore func())
}

// Run sets the store back between acknowledged publishes, as often as trials says
// and 100 times where HANDOFF_LONG is set: also so far that others have published as
// many records again. Each machine that knew the records reports it at its first read.
func (o Rollback) Run(t *testing.T, trials int) {
	if os.Getenv("HANDOFF_LONG") != "" {
		trials = 100
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	known := []string{"one", "two"}
	ok(o.Publish("one"))
	ok(o.Publish("two"))
	reported := 0
	for i := range trials {
		early := o.Save()
		for j := range 1 + i%3 {
			ok(o.Publish(known[(i+j)%2]))
		}
		for _, m := range known {
			ok(o.List(m))
		}
		late := o.Save()
		early()
		if i%2 == 1 { // a machine that knew nothing
			for range 1 + i%5 {
				ok(o.Publish(fmt.Sprint("new-", i)))
			}
		}
		good := true
		for _, m := range known {
			for _, do := range []func(string) error{o.List, o.Publish, o.List} {
				if err := do(m); !errors.Is(err, handoff.Corrupt) {
					good = false
					t.Errorf("trial %d, machine %s: %v, want kind Corrupt", i, m, err)
				}
			}
		}
		if good {
			reported++
		}
		late()
		for _, m := range known {
			ok(o.List(m))
		}
	}
	t.Logf("%d of %d rollbacks were reported by every machine", reported, trials)
	early := o.Save()
	ok(o.Publish("two"))
	ok(o.List("one"))
	early()
	for _, m := range known {
		if err := o.List(m); !errors.Is(err, handoff.Corrupt) {
			t.Errorf("machine %s: %v, want kind Corrupt", m, err)
		}
		ok(o.Accept(m))
		ok(o.List(m))
		ok(o.Publish(m))
	}
	for _, m := range known {
		ok(o.List(m))
	}
}
