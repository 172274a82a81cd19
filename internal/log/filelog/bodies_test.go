package filelog

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/storage"
)

func TestBodies(t *testing.T) {
	t.Parallel()
	logtest.RunBodies(t, func(t *testing.T) func() handoff.Bodies {
		dir := t.TempDir() + "/.handoff"
		return func() handoff.Bodies { return Open(dir, rand.Reader).Bodies() }
	})
}

// A keeping is a log with kept bodies.
type keeping struct {
	*testing.T
	log    *Log
	bodies *Bodies
}

func newKeeping(t *testing.T) *keeping {
	l := Open(filepath.Join(t.TempDir(), ".handoff"), rand.Reader)
	return &keeping{T: t, log: l, bodies: l.Bodies()}
}

func (k *keeping) put(text string) handoff.Digest {
	k.Helper()
	d, err := k.bodies.Put(k.Context(), strings.NewReader(text))
	if err != nil {
		k.Fatal(err)
	}
	return d
}

func (k *keeping) append(f handoff.Fact) string {
	k.Helper()
	r, err := handoff.NewRecord(time.Unix(1_800_000_000, 0), rand.Reader, handoff.Producer{Source: handoff.FromNone}, f)
	if err != nil {
		k.Fatal(err)
	}
	if r.Seq, err = k.log.Append(k.Context(), r); err != nil {
		k.Fatal(err)
	}
	if handoff.IsArtifactID(r.ID) {
		if err := k.log.Link(r); err != nil {
			k.Fatal(err)
		}
	}
	return r.ID
}

// publish keeps a text and records it.
func (k *keeping) publish(text string) (id string, d handoff.Digest) {
	k.Helper()
	d = k.put(text)
	size := int64(len(text))
	return k.append(&handoff.ArtifactPublished{Channel: "design", Path: "a.md", TargetType: "file", SizeBytes: &size,
		Digest: d, Kept: true}), d
}

func (k *keeping) file(d handoff.Digest) string {
	_, name := k.bodies.locate(d)
	return k.log.path(name)
}

// age makes bodies two hours old.
func (k *keeping) age(list ...handoff.Digest) {
	k.Helper()
	old := time.Now().Add(-2 * time.Hour)
	for _, d := range list {
		if err := os.Chtimes(k.file(d), old, old); err != nil {
			k.Fatal(err)
		}
	}
}

func (k *keeping) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func TestBodyIsReadOnly(t *testing.T) {
	k := newKeeping(t)
	info, err := os.Stat(k.file(k.put("a")))
	if err != nil || info.Mode() != 0o400 {
		t.Errorf("a kept body has mode %v, %v, want 0400", info.Mode(), err)
	}
}

// bodyFaults are what may befall a kept body of n bytes.
var bodyFaults = []struct {
	name string
	text string // of the finding
	do   func(k *keeping, d, other handoff.Digest, n int)
}{
	{"bit flip", "does not match its digest", func(k *keeping, d, _ handoff.Digest, n int) {
		b, err := os.ReadFile(k.file(d))
		k.must(err)
		b[mathrand.IntN(n)] ^= 1 << mathrand.IntN(8)
		k.must(os.Remove(k.file(d)))
		k.must(os.WriteFile(k.file(d), b, 0o400))
	}},
	{"truncated", "does not match its digest", func(k *keeping, d, _ handoff.Digest, n int) {
		k.must(os.Chmod(k.file(d), 0o600))
		k.must(os.Truncate(k.file(d), mathrand.Int64N(int64(n))))
	}},
	{"longer", "does not match its digest", func(k *keeping, d, _ handoff.Digest, n int) {
		b, err := os.ReadFile(k.file(d))
		k.must(err)
		k.must(os.Chmod(k.file(d), 0o600))
		k.must(os.WriteFile(k.file(d), append(b, 0), 0))
	}},
	{"missing", "is missing; it is the body of art_",
		func(k *keeping, d, _ handoff.Digest, _ int) { k.must(os.Remove(k.file(d))) }},
	{"swapped", "does not match its digest", func(k *keeping, d, other handoff.Digest, _ int) {
		k.must(os.Remove(k.file(d)))
		k.must(os.Link(k.file(other), k.file(d)))
	}},
	{"a link", "does not belong", func(k *keeping, d, other handoff.Digest, _ int) {
		k.must(os.Remove(k.file(d)))
		k.must(os.Symlink(k.file(other), k.file(d)))
	}},
	{"a directory", "does not belong", func(k *keeping, d, _ handoff.Digest, _ int) {
		k.must(os.Remove(k.file(d)))
		k.must(os.Mkdir(k.file(d), 0o700))
	}},
}

// TestBodyFaults checks that check finds every fault, and nothing else, and
// that no damaged body is ever handed out or kept for another.
func TestBodyFaults(t *testing.T) {
	t.Parallel()
	for i := range 20 / repeats(5) {
		for _, fault := range bodyFaults {
			k := newKeeping(t)
			n := 1 + mathrand.IntN(5000)
			texts := []string{strings.Repeat("a", n), strings.Repeat("b", n), ""}
			var list []handoff.Digest
			for _, text := range texts {
				_, d := k.publish(text)
				list = append(list, d)
			}
			if report, err := checkAll(t, k.log); err != nil || len(report.Findings) > 0 {
				t.Fatalf("check of a sound store: %+v, %v", report, err)
			}
			fault.do(k, list[0], list[1], n)
			report, err := checkAll(t, k.log)
			found := slices.ContainsFunc(report.Findings, func(f handoff.Finding) bool {
				return strings.Contains(f.Text, fault.text) && strings.Contains(f.Name, list[0].Value[2:])
			})
			if err != nil || report.OK() || !found {
				t.Errorf("%d, %s: check finds %+v, %v, want %q", i, fault.name, report.Findings, err, fault.text)
			}
			for _, f := range report.Findings {
				if !strings.Contains(f.Name, list[0].Value[2:]) {
					t.Errorf("%d, %s: false alarm: %+v", i, fault.name, f)
				}
			}
			if r, err := k.bodies.Open(t.Context(), list[0]); err == nil || r != nil || fault.name != "missing" &&
				!errors.Is(err, handoff.Corrupt) {
				t.Errorf("%d, %s: Open = %v, %v", i, fault.name, r, err)
			}
			d, err := k.bodies.Put(t.Context(), strings.NewReader(texts[0]))
			if fault.name == "missing" && (err != nil || d != list[0]) || fault.name != "missing" &&
				!errors.Is(err, handoff.Corrupt) {
				t.Errorf("%d, %s: Put = %v, %v", i, fault.name, d, err)
			}
		}
	}
}

// TestRepairQuarantinesDamage checks that what is damaged is kept under another
// name, and that the body can be stored again then.
func TestRepairQuarantinesDamage(t *testing.T) {
	for _, fault := range bodyFaults {
		k := newKeeping(t)
		text := strings.Repeat("text", 100)
		_, d := k.publish(text)
		_, other := k.publish("other")
		fault.do(k, d, other, len(text))
		damaged, _ := os.ReadFile(k.file(d))
		if err := repairAll(t, k.log); err != nil {
			t.Errorf("%s: repair: %v", fault.name, err)
		}
		if _, err := k.bodies.Open(t.Context(), d); !errors.Is(err, handoff.NotFound) {
			t.Errorf("%s: Open after a repair: %v, want kind NotFound", fault.name, err)
		}
		if report, err := checkAll(t, k.log); err != nil || report.OK() {
			t.Errorf("%s: check forgets that the body is missing: %+v, %v", fault.name, report, err)
		}
		k.put(text)
		quarantined, _ := filepath.Glob(k.file(d) + quarantinedDamage + "*")
		report, err := checkAll(t, k.log)
		if err != nil || !report.OK() || len(report.Findings) != len(quarantined) || len(quarantined) == 0 &&
			fault.name != "missing" {
			t.Errorf("%s: check after the body was stored again: %+v, %v, the quarantined file is %q", fault.name, report, err,
				quarantined)
		}
		for _, name := range quarantined {
			if b, _ := os.ReadFile(name); string(b) != string(damaged) {
				t.Errorf("%s: the quarantined file is %q, want %q", fault.name, b, damaged)
			}
		}
		if got := k.collected(); len(got) != 0 {
			t.Errorf("%s: collected %v", fault.name, got)
		}
	}
}

func TestCheckNotesOrphans(t *testing.T) {
	k := newKeeping(t)
	k.publish("a")
	orphan := k.put("b")
	withdrawn, d := k.publish("c")
	k.append(&handoff.ArtifactWithdrawn{ArtifactID: withdrawn})
	k.must(os.Remove(k.file(d))) // it was collected
	report, err := checkAll(t, k.log)
	if err != nil || len(report.Findings) != 1 || !report.Findings[0].Note ||
		!strings.Contains(report.Findings[0].Name, orphan.Value[2:]) {
		t.Errorf("check finds %+v, %v, want a note on %s", report.Findings, err, orphan.Value)
	}
}

// collected runs a collection and returns what went, by digest.
func (k *keeping) collected() map[handoff.Digest]storage.Reference {
	k.Helper()
	before := time.Now().Add(-time.Hour)
	_, list, err := content.Survey(k.Context(), k.log, k.bodies, before)
	k.must(err)
	gone, err := content.Collect(k.Context(), k.bodies, list, before)
	k.must(err)
	went := map[handoff.Digest]storage.Reference{}
	for _, b := range gone {
		went[b.Digest] = b.Need
	}
	return went
}

func TestCollect(t *testing.T) {
	k := newKeeping(t)
	first, one := k.publish("one") // replaced, which is not withdrawn
	_, two := k.publish("two")
	k.append(&handoff.ArtifactPublished{Channel: "design", Path: "b.md", TargetType: "file", Replaces: []string{first}})
	gone, three := k.publish("three")
	k.append(&handoff.ArtifactWithdrawn{ArtifactID: gone})
	again, _ := k.publish("two")
	k.append(&handoff.ArtifactWithdrawn{ArtifactID: again})
	orphan, young := k.put("orphan"), k.put("young")
	k.age(one, two, three, orphan)

	want := map[handoff.Digest]storage.Reference{three: storage.Withdrawn, orphan: storage.Orphan}
	if got := k.collected(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("collected %v, want %v", got, want)
	}
	for d, stays := range map[handoff.Digest]bool{one: true, two: true, young: true, three: false, orphan: false} {
		if there, err := k.bodies.Has(t.Context(), d); err != nil || there != stays {
			t.Errorf("%s is there: %v, %v, want %v", d.Value, there, err, stays)
		}
	}
	if report, err := checkAll(t, k.log); err != nil || !report.OK() {
		t.Errorf("check after a collection: %+v, %v", report, err)
	}
	k.put("orphan")
	if got := k.collected(); len(got) != 0 {
		t.Errorf("a body that was stored again was collected: %v", got)
	}
}

// TestCollectRefuses checks that nothing is taken for unneeded while anything
// is wrong with the log.
func TestCollectRefuses(t *testing.T) {
	for name, damage := range map[string]func(k *keeping){
		"a hole": func(k *keeping) { k.must(os.Remove(filepath.Join(k.log.dir, k.log.name(2)))) },
		"the newest record": func(k *keeping) {
			k.must(os.Remove(filepath.Join(k.log.dir, k.log.name(3))))
		},
		"a record that is none": func(k *keeping) {
			file := filepath.Join(k.log.dir, k.log.name(1))
			k.must(os.Chmod(file, 0o600))
			k.must(os.WriteFile(file, []byte("{"), 0))
		},
		"the log": func(k *keeping) {
			k.must(os.RemoveAll(filepath.Join(k.log.dir, "log")))
			k.must(os.RemoveAll(filepath.Join(k.log.dir, "artifacts")))
		},
	} {
		k := newKeeping(t)
		for _, text := range []string{"a", "b", "c"} {
			k.publish(text)
		}
		k.age(k.put("orphan"))
		damage(k)
		if _, list, err := content.Survey(t.Context(), k.log, k.bodies, time.Now().Add(-time.Hour)); !errors.Is(err,
			handoff.Corrupt) || list != nil {
			t.Errorf("%s: Unneeded = %v, %v, want kind Corrupt", name, list, err)
		}
	}
}

// TestCollectSparesStoredAgain checks that a body which a publish came to need
// after it was found unneeded stays.
func TestCollectSparesStoredAgain(t *testing.T) {
	k := newKeeping(t)
	k.publish("a")
	x, y := k.put("x"), k.put("y")
	k.age(x, y)
	before := time.Now().Add(-time.Hour)
	_, list, err := content.Survey(t.Context(), k.log, k.bodies, before)
	k.must(err)
	k.put("x")
	gone, err := content.Collect(t.Context(), k.bodies, list, before)
	if err != nil || len(list) != 2 || len(gone) != 1 || gone[0].Digest != y {
		t.Errorf("Collect(%v) = %v, %v, want y alone", list, gone, err)
	}
	if report, err := checkAll(t, k.log); err != nil || len(report.Findings) != 1 {
		t.Errorf("check finds %+v, %v, want the note on x", report.Findings, err)
	}
	if _, err := k.bodies.Open(t.Context(), x); err != nil {
		t.Error(err)
	}
}

// TestInterruptedCollection checks that a body that was being removed is found.
func TestInterruptedCollection(t *testing.T) {
	k := newKeeping(t)
	_, d := k.publish("a")
	k.must(os.Rename(k.file(d), k.file(d)+removingSuffix))
	if r, err := k.bodies.Open(t.Context(), d); err != nil {
		t.Error(err)
	} else {
		r.Close()
	}
	report, err := checkAll(t, k.log)
	if err != nil || !report.OK() || len(report.Findings) != 1 {
		t.Errorf("check finds %+v, %v, want a note", report, err)
	}
	if got := k.collected(); len(got) != 0 {
		t.Errorf("collected %v, want nothing", got)
	}
	if k.put("a") != d {
		t.Error("it can't be kept again")
	}
}
