package filelog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/content"
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
// can be read, one record an id, each artifact's second name, the kept bodies,
// and nothing that doesn't belong. It changes nothing. Its only kind is Unavailable.
func (l *Log) Check(ctx context.Context) (Report, error) {
	c, err := l.examineAll(ctx)
	if err != nil {
		return Report{}, l.failure("check", err)
	}
	return c.report, nil
}

func (l *Log) examineAll(ctx context.Context) (*check, error) {
	c, err := l.examine(ctx)
	if err == nil {
		err = l.Bodies().examine(ctx, c)
	}
	return c, err
}

// A check is a Report in the making, and what a repair needs of it.
type check struct {
	report    Report
	nameless  bool // the log has no identity
	holes     []hole
	unnamed   []handoff.Record // artifacts without their second name
	temporary []string
	files     map[handoff.Seq]string
	places    map[string]handoff.Seq // by id
	lost      []handoff.Record       // that have only their second name
	needs     content.References
	spoilt    []string // files that are not the body that their name says
}

// A hole is a stretch of numbers that are missing, with others beyond it.
type hole struct{ first, last handoff.Seq }

func newCheck() *check {
	return &check{files: map[handoff.Seq]string{}, places: map[string]handoff.Seq{}, report: Report{Findings: []Finding{}}}
}

func (c *check) problem(name, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Name: name, Text: fmt.Sprintf(format, args...)})
}

func (c *check) note(name, format string, args ...any) {
	c.report.Findings = append(c.report.Findings, Finding{Name: name, Text: fmt.Sprintf(format, args...), Note: true})
}

func (l *Log) examine(ctx context.Context) (*check, error) {
	names, err := l.namesIn(recordsDir) // first, for each is made after its number
	if err != nil {
		return nil, err
	}
	managed, err := l.namesIn(content.StoredDir)
	if err != nil {
		return nil, err
	}
	c, err := l.listed()
	if err != nil {
		return nil, err
	}
	if err := l.examineID(c); err != nil {
		return nil, err
	}
	next := handoff.Seq(1)
	for _, n := range slices.Sorted(maps.Keys(c.files)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if next < n {
			c.examineHole(l, hole{next, n - 1})
		}
		next = n + 1
		if err := l.examineRecord(c, n); err != nil {
			return nil, err
		}
	}
	for _, id := range managed {
		if _, ok := c.places[id]; !ok {
			c.note(content.StoredDir+"/"+id, "belongs to no record: its publish died, or is under way")
		}
	}
	for _, name := range names {
		if _, ok := c.places[strings.TrimSuffix(name, ".json")]; ok && strings.HasSuffix(name, ".json") {
			continue
		}
		if strings.Contains(name, found) {
			c.note(recordsDir+"/"+name, "lay where a record's second name belongs, and is kept")
			continue
		}
		c.problem(recordsDir+"/"+name, "belongs to no record of the log")
		if r, ok := l.lost(name); ok {
			c.lost = append(c.lost, r)
		}
	}
	return c, l.listTemporaries(c)
}

// listed returns a check with every file of the log up to a place. While
// others append, a listing may have a number and not the one before; but what
// one listing has, the next one has with all before it.
func (l *Log) listed() (*check, error) {
	first, c := newCheck(), newCheck()
	for _, c := range []*check{first, c} {
		if err := l.listNumbers(c); err != nil {
			return nil, err
		}
	}
	newest := handoff.Seq(0)
	for n := range first.files {
		newest = max(newest, n)
	}
	maps.DeleteFunc(c.files, func(n handoff.Seq, _ string) bool { return n > newest })
	return c, nil
}

// examineID looks at the log's identity. A log without one and without
// records is still to be made.
func (l *Log) examineID(c *check) error {
	id, err := l.ID()
	if err != nil {
		return err
	}
	if id == "" && len(c.files) == 0 {
		return nil
	}
	if b, err := hex.DecodeString(id); err != nil || len(b) != identitySize {
		c.problem(idName, "is no identity")
		c.nameless = true
	}
	return nil
}

func (c *check) examineHole(l *Log, h hole) {
	c.holes = append(c.holes, h)
	if h.first == h.last {
		c.problem(l.name(h.first), "record %d is missing, and there are others beyond it", h.first)
		return
	}
	c.problem(l.name(h.first), "records %d to %d are missing, and there are others beyond them", h.first, h.last)
}

// listNumbers finds every file of the log by listing.
func (l *Log) listNumbers(c *check) error {
	shards, err := os.ReadDir(filepath.Join(l.dir, "log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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

// namesIn lists a directory, which need not exist.
func (l *Log) namesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(l.path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

// examineRecord looks at one record.
func (l *Log) examineRecord(c *check, n handoff.Seq) error {
	file := c.files[n]
	c.report.Records++
	content, _, err := l.file(n, nil)
	if err != nil {
		c.problem(file, "can't be read: %v", reason(err))
		return nil
	}
	r, vouched := stored(n, content)
	c.needs.Add(r)
	if damaged, ok := r.Fact.(*handoff.Damaged); ok {
		c.problem(file, "is no record: %v", reason(damaged.Err))
		return nil
	}
	if !vouched && r.Version <= handoff.Version {
		c.problem(file, "has no checksum that would tell whether it was changed")
	}
	if first, twice := c.places[r.ID]; twice {
		return l.examineTwin(c, r, first)
	}
	c.places[r.ID] = n
	if !handoff.IsArtifactID(r.ID) {
		return nil
	}
	return l.examineName(c, r)
}

// examineName looks at the second name of a record. Where the log was copied,
// it may be a file of its own that says the same.
func (l *Log) examineName(c *check, r handoff.Record) error {
	name := recordsDir + "/" + r.ID + ".json"
	if same, err := l.named(r); same || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	} else if err != nil {
		c.note(name, "is missing; it is another name of record %d", r.Seq)
		c.unnamed = append(c.unnamed, r)
		return nil
	}
	second, _, err := readFile(l.File(r), nil)
	if first, _, _ := l.file(r.Seq, nil); err == nil && bytes.Equal(first, second) {
		c.note(name, "is a copy of record %d, not another name of it", r.Seq)
		return nil
	}
	c.problem(name, "is another file than record %d", r.Seq)
	c.unnamed = append(c.unnamed, r)
	return nil
}

// lost returns the record that a second name holds.
func (l *Log) lost(name string) (handoff.Record, bool) {
	content, _, err := readFile(filepath.Join(l.dir, recordsDir, name), nil)
	if err != nil {
		return handoff.Record{}, false
	}
	r, _ := stored(0, content)
	return r, r.ID+".json" == name
}

// named reports whether a record has its second name. Its error is
// fs.ErrNotExist where that is missing.
func (l *Log) named(r handoff.Record) (bool, error) {
	one, err := os.Lstat(filepath.Join(l.dir, l.name(r.Seq)))
	if err != nil {
		return false, err
	}
	two, err := os.Lstat(l.File(r))
	if err != nil {
		return false, err
	}
	return os.SameFile(one, two), nil
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
		c.temporary = append(c.temporary, e.Name())
		c.note(tmpDir+"/"+e.Name(), "is a temporary of a process that writes, or died")
	}
	return nil
}
