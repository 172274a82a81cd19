package logtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
)

// RunLogAbilities tests each optional interface of package handoff that the logs
// implement. The test of one that they do not implement is skipped.
func RunLogAbilities(t *testing.T, prepare Opener) {
	runAbility(t, "Identifier", prepare, identifier)
	runAbility(t, "Ender", prepare, ender)
	runAbility(t, "BatchAppender", prepare, batchAppender)
	runAbility(t, "LogChecker", prepare, logChecker)
	runAbility(t, "Repairer", prepare, logRepairer)
}

// RunBodyAbilities is RunLogAbilities for body stores.
func RunBodyAbilities(t *testing.T, prepare BodiesOpener) {
	runAbility(t, "BodyChecker", prepare, bodyChecker)
	runAbility(t, "BodyLister", prepare, bodyLister)
	runAbility(t, "BodyRemover", prepare, bodyRemover)
	runAbility(t, "BodyEraser", prepare, bodyEraser)
	runAbility(t, "Repairer", prepare, bodyRepairer)
}

// runAbility runs test if what open returns implements A.
func runAbility[A, S any](t *testing.T, name string, prepare func(*testing.T) func() S,
	test func(*testing.T, func() S, func() A)) {
	t.Run(name, func(t *testing.T) {
		open := prepare(t)
		if _, ok := any(open()).(A); !ok {
			t.Skipf("%T does not implement it", open())
		}
		test(t, open, func() A { return any(open()).(A) })
	})
}

func identifier(t *testing.T, open func() handoff.Log, able func() handoff.Identifier) {
	if id, err := able().ID(t.Context()); id != "" || err != nil {
		t.Errorf("ID before the first record = %q, %v, want none", id, err)
	}
	log := open()
	Append(t, log, "a.md")
	want, err := able().ID(t.Context())
	if want == "" || err != nil {
		t.Fatalf("ID = %q, %v, want one", want, err)
	}
	Append(t, log, "b.md")
	for _, i := range []handoff.Identifier{log.(handoff.Identifier), able()} {
		if id, err := i.ID(t.Context()); id != want || err != nil {
			t.Errorf("ID = %q, %v, want %q again", id, err, want)
		}
	}
}

func ender(t *testing.T, open func() handoff.Log, able func() handoff.Ender) {
	log, other := open(), able()
	for want := handoff.Seq(0); want < 4; want++ {
		for _, e := range []handoff.Ender{log.(handoff.Ender), other, able()} {
			if n, err := e.Newest(t.Context()); n != want || err != nil {
				t.Fatalf("Newest = %d, %v, want %d", n, err, want)
			}
		}
		Append(t, log, "a.md")
	}
}

func batchAppender(t *testing.T, open func() handoff.Log, able func() handoff.BatchAppender) {
	want := []string{Append(t, open(), "first.md").ID}
	var list []handoff.Record
	for i := range 600 {
		list = append(list, NewRecord(fmt.Sprintf("%d.md", i)))
		want = append(want, list[i].ID)
	}
	if seq, err := able().AppendAll(t.Context(), list); seq != 2 || err != nil {
		t.Errorf("AppendAll = %d, %v, want 2", seq, err)
	}
	if _, err := able().AppendAll(t.Context(), []handoff.Record{NewRecord("last.md"), {ID: "x"}}); !errors.Is(err,
		handoff.Invalid) {
		t.Errorf("AppendAll of a record without a fact = %v, want kind Invalid", err)
	}
	if got := ids(Collect(t, open(), 0)); !slices.Equal(got, want) {
		t.Errorf("after AppendAll the log has %d records, want %d in their order", len(got), len(want))
	}
}

func logChecker(t *testing.T, open func() handoff.Log, able func() handoff.LogChecker) {
	var want []string
	for n := range 5 {
		var got []string
		report, err := able().Check(t.Context(), func(r handoff.Record) { got = append(got, r.ID) })
		if err != nil || !report.OK() || report.Records != n || report.Findings == nil || !slices.Equal(got, want) {
			t.Fatalf("Check of %d records = %+v, %v, with %v, want no problem and %v", n, report, err, got, want)
		}
		want = append(want, Append(t, open(), fmt.Sprintf("%d.md", n)).ID)
	}
	if report, err := able().Check(t.Context(), nil); err != nil || report.Records != len(want) {
		t.Errorf("Check without a function = %+v, %v", report, err)
	}
	if got := ids(Collect(t, open(), 0)); !slices.Equal(got, want) {
		t.Errorf("after Check the log contains %v, want %v", got, want)
	}
}

func logRepairer(t *testing.T, open func() handoff.Log, able func() handoff.Repairer) {
	if err := able().Repair(t.Context(), time.Now()); err != nil {
		t.Errorf("Repair of an empty log = %v", err)
	}
	var want []string
	for range 4 {
		want = append(want, Append(t, open(), "a.md").ID)
	}
	if err := able().Repair(t.Context(), time.Now()); err != nil {
		t.Errorf("Repair = %v", err)
	}
	if got := ids(Collect(t, open(), 0)); !slices.Equal(got, want) {
		t.Errorf("after Repair the log contains %v, want %v", got, want)
	}
}

func put(t *testing.T, b handoff.Bodies, text string) handoff.Digest {
	t.Helper()
	d, err := b.Put(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func bodyChecker(t *testing.T, open func() handoff.Bodies, able func() handoff.BodyChecker) {
	for n := range 5 {
		report, err := able().Check(t.Context())
		if err != nil || len(report.Findings) > 0 {
			t.Errorf("Check of %d bodies = %+v, %v, want no findings", n, report, err)
		}
		put(t, open(), fmt.Sprint(n))
	}
}

func bodyRepairer(t *testing.T, open func() handoff.Bodies, able func() handoff.Repairer) {
	d := put(t, open(), "text")
	if err := able().Repair(t.Context(), time.Now()); err != nil {
		t.Errorf("Repair = %v", err)
	}
	if got := kept(t, open(), d); got != "text" {
		t.Errorf("after Repair the body is %q", got)
	}
}

// listed returns the stored bodies by the value of their digests.
func listed(t *testing.T, l handoff.BodyLister) map[string]handoff.StoredBody {
	t.Helper()
	found := map[string]handoff.StoredBody{}
	for b, err := range l.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Digest.Algorithm != handoff.SHA256 {
			t.Errorf("List yields algorithm %q", b.Digest.Algorithm)
		}
		found[b.Digest.Value] = b
	}
	return found
}

func bodyLister(t *testing.T, open func() handoff.Bodies, able func() handoff.BodyLister) {
	if got := listed(t, able()); len(got) != 0 {
		t.Errorf("an empty store lists %v", got)
	}
	started := time.Now().Add(-time.Second) // file systems have coarse clocks
	for n := range 10 {
		put(t, open(), strings.Repeat("x", n))
	}
	got := listed(t, able())
	for n := range 10 {
		b := got[DigestOf(strings.Repeat("x", n)).Value]
		if len(got) != 10 || b.SizeBytes != int64(n) || b.StoredAt.Before(started) {
			t.Errorf("%d bodies are listed, that of %d bytes as %+v", len(got), n, b)
		}
	}
	for range able().List(t.Context()) {
		break // an early stop is no error
	}
}

// bodyRemover checks the age limit, and that a body that is put again while it is
// being removed is stored when Put returns.
func bodyEraser(t *testing.T, open func() handoff.Bodies, able func() handoff.BodyEraser) {
	put(t, open(), "a")
	put(t, open(), "b")
	err := able().Erase(t.Context(), DigestOf("a"))
	if errors.Is(err, handoff.Unsupported) {
		t.Skipf("a copy remains: %v", err)
	}
	for range 2 { // the second time, nothing is stored
		if err != nil {
			t.Fatalf("Erase = %v", err)
		}
		if there, err := open().Has(t.Context(), DigestOf("a")); there || err != nil {
			t.Errorf("after Erase, Has = %v, %v", there, err)
		}
		if _, err := open().Open(t.Context(), DigestOf("a")); !errors.Is(err, handoff.NotFound) {
			t.Errorf("after Erase, Open = %v, want kind NotFound", err)
		}
		err = able().Erase(t.Context(), DigestOf("a"))
	}
	if got := kept(t, open(), DigestOf("b")); got != "b" {
		t.Errorf("another body is %q", got)
	}
	put(t, open(), "a")
	if got := kept(t, open(), DigestOf("a")); got != "a" {
		t.Errorf("a body that was put again is %q", got)
	}
}

func bodyRemover(t *testing.T, open func() handoff.Bodies, able func() handoff.BodyRemover) {
	hour := time.Hour
	remove := func(d handoff.Digest, before time.Time, want bool) {
		t.Helper()
		if removed, err := able().Remove(t.Context(), d, before); removed != want || err != nil {
			t.Errorf("Remove = %v, %v, want %v", removed, err, want)
		}
		if there, err := open().Has(t.Context(), d); err != nil || (there == want && d == DigestOf("a")) {
			t.Errorf("after Remove = %v, Has = %v, %v", want, there, err)
		}
	}
	put(t, open(), "a")
	remove(DigestOf("a"), time.Now().Add(-hour), false)
	remove(DigestOf("none"), time.Now().Add(hour), false)
	remove(handoff.Digest{Algorithm: handoff.SHA256, Value: "../x"}, time.Now().Add(hour), false)
	remove(DigestOf("a"), time.Now().Add(hour), true)
	remove(DigestOf("none"), time.Now().Add(hour), false)
	put(t, open(), "a")

	times := 5
	if long() {
		times = 20
	}
	for i := range times {
		text := fmt.Sprint("body ", i)
		d := put(t, open(), text)
		time.Sleep(15 * time.Millisecond) // beyond the resolution of file times
		before := time.Now()
		removing := make(chan error, 1)
		remover := able()
		time.Sleep(15 * time.Millisecond)
		go func() {
			_, err := remover.Remove(t.Context(), d, before)
			removing <- err
		}()
		put(t, open(), text)
		if got := kept(t, open(), d); got != text {
			t.Errorf("a body that was put again is %q", got)
		}
		if err := <-removing; err != nil {
			t.Errorf("Remove = %v", err)
		}
		if got := kept(t, open(), d); got != text {
			t.Errorf("a body that was put again is %q after a removal", got)
		}
	}
}
