package filelog

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
)

// Check implements handoff.LogChecker. It verifies that the numbers have no
// hole, that every record can be read, that no two records share an ID, that
// each artifact has its ID link, and that there are no foreign files.
func (l *Log) Check(ctx context.Context, each func(handoff.Record)) (handoff.Report, error) {
	c, err := l.check(ctx, each)
	if err != nil {
		return handoff.Report{}, l.failure("check", err)
	}
	return c.Report, nil
}

// A logCheck is a Report in the making, with what a repair needs.
type logCheck struct {
	handoff.Report
	missingID    bool
	holes        []hole
	damaged      []handoff.Seq
	missingLinks []placed         // artifacts without their ID link
	orphanLinks  []handoff.Record // records that only have an ID link
	damagedLinks []string         // names of ID links that contain no record
	temporary    []string
	numbers      []handoff.Seq          // that exist, in any order
	seqs         map[string]handoff.Seq // by ID
	buf          []byte                 // that the next record is read into
}

// A placed is the ID of a record, with its number.
type placed struct {
	seq handoff.Seq
	id  string
}

// A hole is a range of missing numbers with others beyond it.
type hole struct{ first, last handoff.Seq }

func newLogCheck() *logCheck {
	return &logCheck{seqs: map[string]handoff.Seq{}, Report: handoff.Report{Findings: []handoff.Finding{}}}
}

func (c *logCheck) problem(name, format string, args ...any) {
	c.Findings = append(c.Findings, handoff.Finding{Name: name, Text: formatted(format, args)})
}

func (c *logCheck) note(name, format string, args ...any) {
	c.Findings = append(c.Findings, handoff.Finding{Name: name, Text: formatted(format, args), Note: true})
}

// formatted is fmt.Sprintf, which many findings with the same text share.
func formatted(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

func (l *Log) check(ctx context.Context, each func(handoff.Record)) (*logCheck, error) {
	links, err := l.namesIn(recordsDir) // first: a link is created after its number
	if err != nil {
		return nil, err
	}
	c, err := l.listed()
	if err != nil {
		return nil, err
	}
	if err := l.checkID(c); err != nil {
		return nil, err
	}
	next := handoff.Seq(1)
	for _, n := range c.numbers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if next < n {
			c.reportHole(l, hole{next, n - 1})
		}
		next = n + 1
		if err := l.checkRecord(c, n, each); err != nil {
			return nil, err
		}
	}
	l.checkLinks(c, links)
	return c, l.listTemporaries(c)
}

// checkLinks reports the names among the ID links that belong to no record.
func (l *Log) checkLinks(c *logCheck, names []string) {
	for _, name := range names {
		if _, ok := c.seqs[strings.TrimSuffix(name, ".json")]; ok && strings.HasSuffix(name, ".json") {
			continue
		}
		if strings.Contains(name, quarantinedLink) {
			c.note(recordsDir+"/"+name, "is a quarantined file that had the name of an ID link")
			continue
		}
		c.problem(recordsDir+"/"+name, "belongs to no record of the log")
		if r, ok := l.linkedRecord(name); ok {
			c.orphanLinks = append(c.orphanLinks, r)
		} else if handoff.IsArtifactID(strings.TrimSuffix(name, ".json")) {
			c.damagedLinks = append(c.damagedLinks, name)
		}
	}
}

// listed returns a check with every number of the log up to some point. While
// others append, one listing may contain a number but not the one before it.
// But the next listing contains every number of the first with all before it.
func (l *Log) listed() (*logCheck, error) {
	first, c := newLogCheck(), newLogCheck()
	for _, c := range []*logCheck{first, c} {
		if err := l.listNumbers(c); err != nil {
			return nil, err
		}
	}
	newest := slices.Max(append(first.numbers, 0))
	c.numbers = slices.DeleteFunc(c.numbers, func(n handoff.Seq) bool { return n > newest })
	slices.Sort(c.numbers)
	return c, nil
}

// checkID verifies the log's ID. A log of which nothing exists was not created
// yet.
func (l *Log) checkID(c *logCheck) error {
	id, err := l.readID()
	if errors.Is(err, handoff.Corrupt) {
		c.problem(idName, "invalid log ID")
		c.missingID = true
		return nil
	}
	if err != nil {
		return err
	}
	if id == "" {
		if remnant, err := l.remnant(); err != nil || remnant == "" {
			return err
		}
		if id, err = l.readID(); err != nil {
			return err
		}
	}
	if b, err := hex.DecodeString(id); err != nil || len(b) != idSize {
		c.problem(idName, "invalid log ID")
		c.missingID = true
	}
	return nil
}

func (c *logCheck) reportHole(l *Log, h hole) {
	c.holes = append(c.holes, h)
	if h.first == h.last {
		c.problem(l.name(h.first), "record %d is missing, but later records exist", h.first)
		return
	}
	c.problem(l.name(h.first), "records %d to %d are missing, but later records exist", h.first, h.last)
}

// listNumbers finds every file of the log by listing.
func (l *Log) listNumbers(c *logCheck) error {
	shards, err := os.ReadDir(filepath.Join(l.dir, "log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range shards {
		shard := "log/" + s.Name()
		if shard == tmpDir || shard == idName || durable.IsTemporary(s.Name()) {
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
			if strings.Contains(f.Name(), quarantinedDamage) {
				c.note(name, "is a quarantined record")
				continue
			}
			digits, ok := strings.CutSuffix(f.Name(), ".json")
			n, err := strconv.ParseInt(digits, 10, 63)
			if !ok || err != nil || n < 1 || name != l.name(handoff.Seq(n)) {
				c.problem(name, "does not belong to the log")
				continue
			}
			c.numbers = append(c.numbers, handoff.Seq(n))
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

// checkRecord verifies one record.
func (l *Log) checkRecord(c *logCheck, n handoff.Seq, each func(handoff.Record)) error {
	file := l.name(n)
	c.Records++
	content, rest, err := l.file(n, c.buf)
	if err != nil {
		c.problem(file, "can't be read: %v", reason(err))
		return nil
	}
	c.buf = rest
	r, hasSum := stored(n, content)
	if each != nil {
		each(r)
	}
	if damaged, ok := r.Fact.(*handoff.Damaged); ok {
		c.problem(file, "not a valid record: %v", reason(damaged.Err))
		c.damaged = append(c.damaged, n)
		return nil
	}
	if !hasSum && r.Version <= handoff.Version {
		c.problem(file, "has no checksum, so a change can't be detected")
	}
	if first, twice := c.seqs[r.ID]; twice {
		return l.checkDuplicate(c, r, first)
	}
	r.ID = strings.Clone(r.ID) // records share memory
	c.seqs[r.ID] = n
	if !handoff.IsArtifactID(r.ID) {
		return nil
	}
	return l.checkLink(c, r)
}

// checkLink verifies the ID link of a record. If the log was copied, it may be a
// file of its own with the same bytes.
func (l *Log) checkLink(c *logCheck, r handoff.Record) error {
	name := recordsDir + "/" + r.ID + ".json"
	if same, err := l.hasLink(r); same || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
		return err
	} else if err != nil {
		c.note(name, "is missing; it is the ID link of record %d", r.Seq)
		c.missingLinks = append(c.missingLinks, placed{r.Seq, r.ID})
		return nil
	}
	linked, _, err := readFile(l.File(r), nil)
	if own, _, _ := l.file(r.Seq, nil); err == nil && bytes.Equal(own, linked) {
		c.note(name, "is a copy of record %d, not a hard link to it", r.Seq)
		return nil
	}
	c.problem(name, "differs from record %d", r.Seq)
	c.missingLinks = append(c.missingLinks, placed{r.Seq, r.ID})
	return nil
}

// linkedRecord returns the record in an ID link.
func (l *Log) linkedRecord(name string) (handoff.Record, bool) {
	content, _, err := readFile(filepath.Join(l.dir, recordsDir, name), nil)
	if err != nil {
		return handoff.Record{}, false
	}
	r, _ := stored(0, content)
	return r, r.ID+".json" == name
}

// hasLink reports whether a record has its ID link. Its error is fs.ErrNotExist
// if the link is missing.
func (l *Log) hasLink(r handoff.Record) (bool, error) {
	own, err := os.Lstat(filepath.Join(l.dir, l.name(r.Seq)))
	if err != nil {
		return false, err
	}
	linked, err := os.Lstat(l.File(r))
	if err != nil {
		return false, err
	}
	return os.SameFile(own, linked), nil
}

// checkDuplicate verifies a record whose ID came before. A writer that lost the
// reply to its append may have tried again; the bytes are then the same.
func (l *Log) checkDuplicate(c *logCheck, r handoff.Record, first handoff.Seq) error {
	other, _, err := l.record(first, nil)
	if err != nil {
		return err
	}
	a, _ := r.JSON()
	b, _ := other.JSON()
	if string(a) == string(b) {
		c.note(l.name(r.Seq), "repeats record %d", first)
		return nil
	}
	c.problem(l.name(r.Seq), "has the ID %s of record %d, with different content", r.ID, first)
	return nil
}

// listTemporaries finds the temporary files of the log.
func (l *Log) listTemporaries(c *logCheck) error {
	for _, dir := range []string{tmpDir, "log"} {
		names, err := l.namesIn(dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if dir == tmpDir || durable.IsTemporary(name) {
				c.temporary = append(c.temporary, dir+"/"+name)
				c.note(dir+"/"+name, "is a temporary file of a process that is running or was killed")
			}
		}
	}
	return nil
}
