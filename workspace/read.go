package workspace

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/core"
	"github.com/agent-handoff/handoff/internal/log/content"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace/pipelines"
)

// ReadOptions select what Read opens.
type ReadOptions struct {
	Revision int  // of the name or family, from 1; 0 for the artifact that the ref names
	Latest   bool // of several artifacts that have the name, the one written last
}

// A Body is an open body. Close it when done.
type Body struct {
	handoff.Content

	// Unrecorded is the path of a file without a record that is where the file of
	// a name or stage is expected, "" for a published body. Artifact is then zero.
	Unrecorded string

	// Saved reports that the file of a name was edited outside handoff: the body is
	// the edit, which was recorded as the newest revision.
	Saved bool

	record handoff.Hint // how to record it
	w      *Workspace   // that it was read in
}

// Read opens what an artifact published: its file if that is unchanged, else the
// kept copy. A ref can also name a file without a record, run/name or
// issue/name; Body.Unrecorded then has its path.
//
// An ID, a path and a revision name what was published. A name means
// the content of its file: if that was edited outside handoff, the edit is first
// recorded as a revision, as Write does. An edit that can't be recorded, and one of
// the file of a stage, is a body without a record.
//
// Kinds: NotFound, Conflict (an ambiguous ref), Invalid, Unavailable (what was
// published is gone and no copy was kept), Corrupt.
func (w *Workspace) Read(ctx context.Context, ref string, o ReadOptions) (Body, error) {
	b, err := w.read(ctx, ref, o)
	b.w = w
	return b, err
}

func (w *Workspace) read(ctx context.Context, ref string, o ReadOptions) (Body, error) {
	if o.Revision < 0 {
		return Body{}, handoff.E("read", strconv.Itoa(o.Revision), handoff.Invalid,
			errors.New("revision must be 1 or greater"),
			handoff.Advice("the first revision is 1; without a revision the newest is read"))
	}
	found, err := w.c.Find(ctx, ref, o.Latest)
	if errors.Is(err, handoff.NotFound) {
		if b, ok := w.stageFile(ref); ok {
			return w.unrecordedBody(b, o)
		}
	}
	switch {
	case err != nil:
		return Body{}, err
	case found.Unrecorded():
		f, err := found.Open()
		if err != nil {
			return Body{}, handoff.E("read", ref, handoff.Unavailable, durable.Reason(err),
				handoff.Advice("the file is "+found.File))
		}
		return w.unrecordedBody(Body{Content: handoff.Content{ReadSeekCloser: f}, Unrecorded: found.File,
			record: handoff.Suggest("record it", handoff.ActionWrite, found.Name, found.File)}, o)
	case o.Revision == 0 && isNamed(found.Artifact, ref):
		return w.openName(ctx, found.Artifact)
	case o.Revision == 0:
		return w.open(ctx, found.ID)
	}
	if found, err = w.c.Refs(ctx).Revision(ctx, found, o.Revision); err != nil {
		return Body{}, err
	}
	return w.open(ctx, found.ID)
}

// isNamed reports whether a ref names an artifact by its name.
func isNamed(a handoff.Artifact, ref string) bool {
	return a.Name != "" && (ref == a.Name || strings.HasSuffix(ref, "/"+a.Name))
}

// openName opens the file of a name whose newest revision is head.
func (w *Workspace) openName(ctx context.Context, head handoff.Artifact) (Body, error) {
	stale := false
	if head.Target != handoff.Missing { // else it may have been removed on purpose
		stale, _ = w.stale(ctx, head, false)
	}
	if stale || (head.Target != handoff.Modified && head.Target != handoff.Unknown) {
		return w.open(ctx, head.ID)
	}
	if pipelines.IsStage(head) { // only a submission, which is validated, is recorded
		b, err := w.open(ctx, head.ID)
		if err == nil && b.Artifact.Target == handoff.Modified {
			if edited, ok := w.stageFile(head.Namespace + "/" + head.Name); ok {
				return edited, b.Close()
			}
		}
		return b, err
	}
	saved, err := w.saveEdit(ctx, head)
	switch {
	case err != nil:
		f, failed := content.OpenRegular(head.File, head.File)
		return Body{Content: handoff.Content{ReadSeekCloser: f}, Unrecorded: head.File,
			record: handoff.Suggest("record it", handoff.ActionWrite, head.Name, head.File)}, failed
	case saved != nil:
		head = *saved
	}
	b, err := w.open(ctx, head.ID)
	b.Saved = saved != nil
	return b, err
}

func (w *Workspace) open(ctx context.Context, id string) (Body, error) {
	b, err := w.c.Anonymous.Open(ctx, id)
	if _, file := b.ReadSeekCloser.(handoff.FileBody); err == nil && !file && w.c.Copying != nil &&
		b.Artifact.SizeBytes != nil {
		b.ReadSeekCloser = &reported{ReadSeekCloser: b.ReadSeekCloser, size: *b.Artifact.SizeBytes, report: w.c.Copying}
	}
	return Body{Content: b}, err
}

// A reported is a body that reports how much of it was read.
type reported struct {
	io.ReadSeekCloser
	at, size int64
	report   func(done, total int64)
}

func (r *reported) Read(p []byte) (int, error) {
	n, err := r.ReadSeekCloser.Read(p)
	r.at += int64(n)
	r.report(r.at, r.size)
	return n, err
}

func (r *reported) Seek(offset int64, whence int) (at int64, err error) {
	at, err = r.ReadSeekCloser.Seek(offset, whence)
	r.at = at
	return at, err
}

// unrecordedBody returns a file without a record, which has no revisions.
func (w *Workspace) unrecordedBody(b Body, o ReadOptions) (Body, error) {
	if o.Revision == 0 {
		return b, nil
	}
	return Body{}, errors.Join(b.notRecorded(), b.Close())
}

// notRecorded is the error of what can be done with recorded bodies only, nil
// for one of those.
func (b Body) notRecorded() error {
	if b.Unrecorded == "" {
		return nil
	}
	return core.Unrecorded("read", b.Unrecorded, b.Unrecorded, b.record)
}

// CopyPage writes the part of the body that a span selects. Kind: Invalid (the
// span; a directory, which can only be saved).
func (b Body) CopyPage(to io.Writer, s storage.Span) (storage.Page, error) {
	return content.CopyContent(to, b.Content, s)
}

// Page returns the part of the body that a span selects. Kinds: those of
// CopyPage, and NotFound (the body has no record).
func (b Body) Page(s storage.Span) (storage.BodyPage, error) {
	if err := b.notRecorded(); err != nil {
		return storage.BodyPage{}, err
	}
	return content.PageOf(b.Content, s)
}
