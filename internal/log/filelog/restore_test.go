package filelog

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/logtest"
)

// TestRepairRestoresRecords damages and removes numbers and ID links in every
// combination: after one repair, every record of which one copy was intact is in
// the log, and check finds no problem.
func TestRepairRestoresRecords(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			s := site{t: t, dir: intactLog(t)}
			s.log = openQuick(s.dir)
			records := logtest.Collect(t, s.log, 0)
			var intact []string
			complete := true // every record has an intact copy
			for _, r := range records {
				number, link := s.number(r.Seq), s.log.File(r)
				kept := true
				switch random.IntN(8) {
				case 0:
					s.must(os.Remove(number))
				case 1:
					s.damageCopy(number)
				case 2:
					s.damageCopy(link)
				case 3:
					s.must(os.Remove(number), os.Remove(link))
					kept = false
				case 4:
					s.damageCopy(number)
					s.damageCopy(link)
					kept = false
				}
				if kept {
					intact = append(intact, r.ID)
				}
				complete = complete && kept
			}
			s.must(repairAll(t, openQuick(s.dir)))
			report, err := openQuick(s.dir).Check(t.Context(), nil)
			s.must(err)
			for _, f := range report.Findings {
				if !f.Note {
					t.Errorf("after the repair: %s %s", f.Name, f.Text)
				}
			}
			var got []string
			for _, r := range logtest.Collect(t, openQuick(s.dir), 0) {
				if _, gap := r.Fact.(*handoff.Gap); !gap {
					got = append(got, r.ID)
				}
			}
			if complete && !slices.Equal(got, intact) {
				t.Errorf("the records are %v, want %v", got, intact)
			}
			slices.Sort(got)
			slices.Sort(intact)
			if !slices.Equal(got, intact) {
				t.Errorf("the records are %v, want %v in any order", got, intact)
			}
		})
	}
}

// damageCopy replaces a name with a damaged copy of its file.
func (s site) damageCopy(name string) {
	b := []byte(s.content(name))
	b[20] ^= 1
	s.must(os.Remove(name), os.WriteFile(name, b, 0o400))
}

// TestRepairFollowsNoLink replaces a directory of numbers with a link to another
// one that has fewer of them: nothing is restored where it leads.
func TestRepairFollowsNoLink(t *testing.T) {
	s := site{t: t, dir: intactLog(t)}
	s.log = openQuick(s.dir)
	outside := t.TempDir()
	shard := s.log.path(s.log.shardName(1))
	b, err := os.ReadFile(s.number(1))
	s.must(err)
	s.must(os.WriteFile(filepath.Join(outside, filepath.Base(s.number(1))), b, 0o444), os.RemoveAll(shard),
		os.Symlink(outside, shard))
	if err := repairAll(t, openQuick(s.dir)); !errors.Is(err, handoff.Corrupt) {
		t.Errorf("Repair = %v, want kind Corrupt", err)
	}
	entries, err := os.ReadDir(outside)
	s.must(err)
	if len(entries) != 1 {
		t.Errorf("repair wrote outside the log: %v", entries)
	}
}
