package filelog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
)

// A Finding is one thing that a check has to say.
type Finding struct {
	Name string `json:"name"` // the file, below the runtime directory
	Text string `json:"text"`

	// Note says that nothing is wrong: something is derived and will be made
	// again, or was left behind by a process that died.
	Note bool `json:"note,omitempty"`
}

// A Report is the outcome of a check.
type Report struct {
	Records  int       `json:"records"`
	Findings []Finding `json:"findings"`
}

// Sound reports whether nothing is wrong.
func (r Report) Sound() bool {
	return !slices.ContainsFunc(r.Findings, func(f Finding) bool { return !f.Note })
}

// Check looks at every file of the log: numbers without a hole, records that
// can be read, one record an id, each artifact's second name, and nothing that
// doesn't belong. It changes nothing. Its only kind is Unavailable.
func (l *Log) Check(ctx context.Context) (Report, error) {
	c, err := l.examine(ctx)
	if err != nil {
		return Report{}, l.failure("check", err)
	}
	return c.report, nil
}

// A check is a Report in the making, and what a repair needs of it.
type check struct {
	report  Report
	holes   []handoff.Seq
	unnamed []handoff.Record // artifacts without their second name
	stale   []string         // temporaries
	files   map[handoff.Seq]string
	places  map[string]handoff.Seq // by id
}

func (c *check) problem(name, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Name: name, Text: fmt.Sprintf(format, args...)})
}

func (c *check) note(name, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Name: name, Text: fmt.Sprintf(format, args...), Note: true})
}

func (l *Log) examine(ctx context.Context) (*check, error) {
	c := &check{files: map[handoff.Seq]string{}, places: map[string]handoff.Seq{}, report: Report{Findings: []Finding{}}}
	if _, err := os.Stat(filepath.Join(l.dir, "log")); errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err := l.listNumbers(c); err != nil {
		return nil, err
	}
	if id, err := l.ID(); err != nil {
		return nil, err
	} else if len(id) != 32 {
		c.problem(idName, "is no identity")
	}
	names, err := l.recordNames()
	if err != nil {
		return nil, err
	}
	next := handoff.Seq(1)
	for _, n := range sortedSeqs(c.files) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for ; next < n; next++ {
			c.problem(l.name(next), "record %d is missing, and there are others beyond it", next)
			c.holes = append(c.holes, next)
		}
		next = n + 1
		if err := l.examineRecord(c, n, names); err != nil {
			return nil, err
		}
	}
	for _, name := range sortedNames(names) {
		c.problem(recordsDir+"/"+name, "belongs to no record of the log")
	}
	return c, l.listTemporaries(c)
}

// listNumbers finds every file of the log by listing.
func (l *Log) listNumbers(c *check) error {
	shards, err := os.ReadDir(filepath.Join(l.dir, "log"))
	if err != nil {
		return err
	}
	for _, s := range shards {
		shard := "log/" + s.Name()
		if shard == tmpDir || shard == idName {
			continue
		}
		if _, err := strconv.ParseUint(s.Name(), 10, 40); err != nil || !s.IsDir() || len(s.Name()) != 8 {
			c.problem(shard, "does not belong to the log")
			continue
		}
		files, err := os.ReadDir(filepath.Join(l.dir, shard))
		if err != nil {
			return err
		}
		for _, f := range files {
			name := shard + "/" + f.Name()
			digits, ok := strings.CutSuffix(f.Name(), ".json")
			n, err := strconv.ParseInt(digits, 10, 63)
			if !ok || err != nil || n < 1 || name != l.name(handoff.Seq(n)) {
				c.problem(name, "does not belong to the log")
				continue
			}
			c.files[handoff.Seq(n)] = name
		}
	}
	return nil
}

// recordNames lists the second names of records.
func (l *Log) recordNames() (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Join(l.dir, recordsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names, nil
}

// examineRecord looks at one record and at its second name, which it takes out
// of names.
func (l *Log) examineRecord(c *check, n handoff.Seq, names map[string]bool) error {
	file := c.files[n]
	r, _, err := l.record(n, nil)
	if err != nil {
		return err
	}
	c.report.Records++
	if damaged, ok := r.Fact.(*handoff.Damaged); ok {
		c.problem(file, "is no record: %v", damaged.Err)
		return nil
	}
	if first, twice := c.places[r.ID]; twice {
		return l.examineTwin(c, r, first)
	}
	c.places[r.ID] = n
	if !handoff.IsArtifactID(r.ID) {
		return nil
	}
	name := r.ID + ".json"
	if !names[name] {
		c.note(recordsDir+"/"+name, "is missing; it is another name of record %d", n)
		c.unnamed = append(c.unnamed, r)
		return nil
	}
	delete(names, name)
	one, err := os.Lstat(filepath.Join(l.dir, file))
	if err != nil {
		return err
	}
	two, err := os.Lstat(filepath.Join(l.dir, recordsDir, name))
	if err != nil {
		return err
	}
	if !os.SameFile(one, two) {
		c.problem(recordsDir+"/"+name, "is another file than record %d", n)
		c.unnamed = append(c.unnamed, r)
	}
	return nil
}

// examineTwin looks at a record whose id came before. A writer that lost the
// answer to its append may have tried again; then the bytes are the same.
func (l *Log) examineTwin(c *check, r handoff.Record, first handoff.Seq) error {
	other, _, err := l.record(first, nil)
	if err != nil {
		return err
	}
	a, _ := r.JSON()
	b, _ := other.JSON()
	if string(a) == string(b) {
		c.note(c.files[r.Seq], "repeats record %d", first)
		return nil
	}
	c.problem(c.files[r.Seq], "has the id %s of record %d, which says something else", r.ID, first)
	return nil
}

func (l *Log) listTemporaries(c *check) error {
	entries, err := os.ReadDir(filepath.Join(l.dir, tmpDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		c.stale = append(c.stale, e.Name())
		c.note(tmpDir+"/"+e.Name(), "is a temporary of a process that writes, or died")
	}
	return nil
}

func sortedSeqs(m map[handoff.Seq]string) []handoff.Seq {
	var list []handoff.Seq
	for n := range m {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

func sortedNames(m map[string]bool) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
