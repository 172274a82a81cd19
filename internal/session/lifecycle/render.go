package lifecycle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/order"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// Render updates the manifest of a session from the log; that of a deleted session it
// removes. When all concurrent calls have returned, the file includes the newest record
// about the session. Render does nothing for a run, which has no manifest, or if the
// session's folder is not on this machine.
//
// Error kinds: NotFound, Unavailable.
func (ss *Sessions) Render(ctx context.Context, id string) error {
	s, err := ss.Session(ctx, id)
	if err != nil || s.Parent != "" {
		return err
	}
	var note func(upTo handoff.Seq, sum string) (bool, error)
	if ss.Pending != nil {
		note = func(upTo handoff.Seq, sum string) (bool, error) { return ss.Pending.Rendered(ctx, id, upTo, sum) }
	}
	return renderUntilNoted(func(noted bool) (handoff.Seq, string, error) { return ss.render(ctx, s, noted) }, note)
}

// renderUntilNoted renders until note reports that the file is the newest one and includes all records.
// What can't be noted is rendered until it is stable.
func renderUntilNoted(render func(noted bool) (handoff.Seq, string, error),
	note func(upTo handoff.Seq, sum string) (again bool, err error)) error {
	for {
		upTo, sum, err := render(note != nil)
		if err != nil || note == nil {
			return err
		}
		again, err := note(upTo, sum)
		switch {
		case err != nil:
			note = nil
		case !again:
			return nil
		}
	}
}

// Changed renders the manifest of a session after a new record: at once, or
// within a second if this process rendered it within the last second. Error
// kinds: those of Render.
func (ss *Sessions) Changed(ctx context.Context, id string) error {
	later := func() { _ = ss.Render(context.WithoutCancel(ctx), id) } // on failure Pending still lists the session
	if !ss.throttle.allow(id, later) {
		return nil
	}
	return ss.Render(ctx, id)
}

// render returns the sequence number up to which the manifest includes records, and its
// digest. If nothing happened since the last time but publications, these are added to the
// file, else the file is rendered from the log: once if it is noted afterwards up to where,
// which shows whether it replaced a newer one.
func (ss *Sessions) render(ctx context.Context, s handoff.Session, noted bool) (upTo handoff.Seq, sum string,
	err error) {
	if upTo, err = ss.hub.Newest(ctx); err != nil || s.Folder == "" {
		return upTo, "", err
	}
	root, err := ss.Files.OpenRoot(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return upTo, "", nil
	}
	if err != nil {
		return 0, "", renderError(s.ID, err)
	}
	defer root.Close()
	if text := ss.extended(ctx, s, root); noted && text != nil {
		if err := replaceManifest(root, text); err != nil {
			return 0, "", renderError(s.ID, err)
		}
		return upTo, digestOf(text), nil
	}
	var text []byte
	compute := func() (_ []byte, err error) {
		if upTo, err = ss.hub.Newest(ctx); err == nil {
			text, err = ss.manifest(ctx, s.ID)
		}
		return text, err
	}
	replace := func(text []byte) error { return replaceManifest(root, text) }
	if !noted {
		err = renderUntilStable(compute, replace)
	} else if _, err = compute(); err == nil {
		err = replace(text)
	}
	if err != nil {
		return 0, "", renderError(s.ID, err)
	}
	return upTo, digestOf(text), nil
}

// maxManifest is the size of the largest manifest that is extended.
const maxManifest = 64 << 20

// extended returns the manifest of a session with what was published since it was rendered,
// nil if it must be rendered from the log.
func (ss *Sessions) extended(ctx context.Context, s handoff.Session, root *os.Root) []byte {
	if ss.Pending == nil || len(s.Adopted) > 0 {
		return nil
	}
	sum, err := ss.Pending.Extendable(ctx, s.ID)
	if err != nil || sum == "" {
		return nil
	}
	text, err := plainfile.ReadIn(root, manifest.Name, maxManifest)
	if err != nil || digestOf(text) != sum {
		return nil // somebody changed the file
	}
	q := publishedIn(s)
	if q.After = manifest.NewestIn(text); q.After == 0 {
		return nil
	}
	page, err := ss.hub.Artifacts(ctx, q)
	if err != nil {
		return nil
	}
	return manifest.Extend(text, s, page.Artifacts)
}

// digestOf returns what tells the text of a manifest from one that somebody changed.
func digestOf(text []byte) string {
	return fmt.Sprintf("%d %08x", len(text), crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
}

func renderError(id string, err error) error {
	var known *handoff.Error
	if errors.As(err, &known) {
		return err
	}
	return handoff.E("render manifest", id, handoff.Unavailable, durable.Reason(err),
		handoff.Advice("the record is stored; the next change of the session renders the manifest again"))
}

// renderUntilStable replaces the file until what it computed before and after
// the replacement is the same. So the renderer that replaces the file last
// includes the records of all others.
func renderUntilStable(compute func() ([]byte, error), replace func([]byte) error) error {
	text, err := compute()
	for err == nil {
		if err = replace(text); err != nil {
			break
		}
		var again []byte
		if again, err = compute(); err == nil && bytes.Equal(again, text) {
			return nil
		}
		text = again
	}
	return err
}

// manifest returns the content of a session's manifest, nil for a deleted session.
func (ss *Sessions) manifest(ctx context.Context, id string) ([]byte, error) {
	s, artifacts, err := ss.Read(ctx, id)
	if err != nil || s.Deleted {
		return nil, err
	}
	m, err := manifest.New(s, artifacts)
	if err != nil {
		return nil, err
	}
	return m.JSON(s.Adopted)
}

// Read returns a session and all its artifacts, newest first. Error kind:
// NotFound.
func (ss *Sessions) Read(ctx context.Context, id string) (handoff.Session, []handoff.Artifact, error) {
	s, err := ss.Session(ctx, id)
	if err != nil {
		return s, nil, err
	}
	artifacts, err := read(ctx, ss.hub, s)
	return s, artifacts, err
}

func read(ctx context.Context, reader handoff.Reader, s handoff.Session) ([]handoff.Artifact, error) {
	page, err := reader.Artifacts(ctx, publishedIn(s))
	if err != nil || s.Parent == "" {
		return page.Artifacts, err
	}
	// A program inside a run may name a run of its own, which nobody opened.
	inside, err := reader.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{"parent-work": s.ID},
		IncludeInactive: true, Since: s.OpenedAt})
	for _, a := range inside.Artifacts {
		opened, failed := reader.Session(ctx, a.Producer.RunID)
		if a.Producer.RunID != "" && (failed != nil || opened.Opened == 0) {
			page.Artifacts = append(page.Artifacts, a)
		}
	}
	order.Sort(page.Artifacts, func(a, b handoff.Artifact) int { return cmp.Compare(b.Seq, a.Seq) })
	return page.Artifacts, err
}

// publishedIn selects what was published in a session or run.
func publishedIn(s handoff.Session) handoff.ArtifactQuery {
	field := "session"
	if s.Parent != "" {
		field = "run"
	}
	return handoff.ArtifactQuery{Producer: map[string]string{field: s.ID}, IncludeInactive: true}
}

// replaceManifest replaces the manifest unless it has the given content, or with nil removes
// it.
func replaceManifest(root *os.Root, text []byte) error {
	if text == nil {
		err := root.Remove(manifest.Name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, durable.SyncDir(root, "."))
	}
	if old, err := plainfile.ReadIn(root, manifest.Name, int64(len(text))); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return durable.Replace(root, manifest.Name, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// absolute returns the folder of a session as an absolute path, "" for none.
func (ss *Sessions) absolute(s handoff.Session) string {
	if s.Folder == "" {
		return ""
	}
	return filepath.Join(ss.Files.Name(), filepath.FromSlash(s.Folder))
}

// isInternal reports whether handoff itself wrote a file of a session's folder:
// the manifest or a temporary file.
func isInternal(name string) bool {
	return name == manifest.Name || durable.IsTemporary(path.Base(name))
}
