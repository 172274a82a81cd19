package news

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/config"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/workspace/store"
)

// A seen is what a reader has seen of a log: everything until a time and, as the clocks
// of machines differ, a record.
type seen struct {
	Log string      `json:"log,omitempty"`
	Seq handoff.Seq `json:"seq,omitempty"`
	At  time.Time   `json:"at"`

	file     string      // where it is stored
	byNumber bool        // what was seen before is known by the numbers of records, not only by time
	from     handoff.Seq // the record that was seen before
}

const maxSeen = 4096 // bytes

// since sets the time that a report is about, and returns what its reader has seen
// after it.
func (s Source) since(ctx context.Context, o ReportOptions, log store.LogStatus, r *Report) (now seen, err error) {
	now = seen{Log: log.ID, Seq: log.LastSeq, At: r.Until}
	if s.c.State != "" {
		key := sha256.Sum256([]byte(s.c.Dirs.Home()))
		now.file = filepath.Join(s.c.State, "news", hex.EncodeToString(key[:16])+".json")
	}
	if o.Since != "" {
		r.Since, err = s.at(ctx, o.Since)
		return now, err
	}
	before, ok := now.load()
	switch {
	case !ok:
		r.First, r.Since = true, r.Until.AddDate(0, 0, -FirstDays)
	case before.Log != "" && before.Log != log.ID:
		r.Since = before.At
		r.Warnings = append(r.Warnings, "the log is another one than before: the news are by time only")
	default:
		r.Since, now.from, now.byNumber = before.At, before.Seq, true
	}
	return now, nil
}

// at returns the time that was typed: a time, or that of an artifact.
func (s Source) at(ctx context.Context, typed string) (time.Time, error) {
	t, _, err := config.ParsePeriod(typed, "", s.c.Now())
	if err == nil {
		return t, nil
	}
	if a, notArtifact := s.artifact(ctx, typed); notArtifact == nil {
		return a.CreatedAt, nil
	}
	return t, err
}

func (s seen) load() (before seen, ok bool) {
	data, err := plainfile.Read(s.file, maxSeen)
	if s.file == "" || err != nil {
		return before, false
	}
	err = json.Unmarshal(data, &before)
	return before, err == nil && !before.At.IsZero()
}

// Mark notes that its reader has seen a report. What another process of the reader has
// noted since, about a later time, stays.
//
// Kind: Unavailable (the state directory can't be written).
func (s Source) Mark(r Report) error {
	now := r.seen
	if before, ok := now.load(); now.file == "" || ok && before.At.After(now.At) {
		return nil
	}
	dir := filepath.Dir(now.file)
	err := durable.MakeDirs(dir, 0o700)
	if err == nil {
		err = now.store(dir)
	}
	if err != nil {
		return handoff.E("news", now.file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("what you have seen is not noted"))
	}
	return nil
}

func (s seen) store(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return durable.ReplaceUnsynced(root, filepath.Base(s.file), func(out io.Writer) error {
		return json.NewEncoder(out).Encode(s)
	})
}

// artifact returns the artifact that a ref names.
func (s Source) artifact(ctx context.Context, ref string) (handoff.Artifact, error) {
	id, err := s.c.Resolve(ctx, ref)
	if err != nil {
		return handoff.Artifact{}, err
	}
	return s.c.Hub.Artifact(ctx, id)
}
