package session

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/agent-handoff/handoff"
)

// Render brings the manifest of a session up to the log: once every renderer
// has returned, the file shows the newest record about the session, however
// many there were at once. A run has no manifest, and a session whose folder
// is on another machine none here.
//
// Kinds: NotFound, Unavailable.
func (ss *Sessions) Render(ctx context.Context, id string) error {
	s, err := ss.session(ctx, id)
	if err != nil || s.Parent != "" {
		return err
	}
	upTo, err := ss.render(ctx, s)
	if err == nil && ss.Pending != nil {
		_ = ss.Pending.Rendered(ctx, id, upTo) // derived: whoever is next renders once more
	}
	return err
}

// Changed renders the manifest of a session that a record came for: at once,
// or, where this process did so within the last second, by the end of it.
// Kinds: those of Render.
func (ss *Sessions) Changed(ctx context.Context, id string) error {
	later := func() { _ = ss.Render(context.WithoutCancel(ctx), id) } // the record stands, and Pending knows
	if !ss.throttle.allow(id, later) {
		return nil
	}
	return ss.Render(ctx, id)
}

// render returns up to which record the manifest shows all.
func (ss *Sessions) render(ctx context.Context, s handoff.Session) (upTo handoff.Seq, err error) {
	if s.Folder == "" {
		return ss.hub.Newest(ctx)
	}
	root, err := ss.Files.OpenRoot(s.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return ss.hub.Newest(ctx)
	}
	if err != nil {
		return 0, unrendered(s.ID, err)
	}
	defer root.Close()
	err = settle(
		func() (text []byte, err error) {
			if upTo, err = ss.hub.Newest(ctx); err == nil {
				text, err = ss.manifest(ctx, s.ID)
			}
			return text, err
		},
		func(text []byte) error { return ss.replace(root, text) },
	)
	if err != nil {
		return 0, unrendered(s.ID, err)
	}
	return upTo, nil
}

func unrendered(id string, err error) error {
	var known *handoff.Error
	if errors.As(err, &known) {
		return err
	}
	return refuse("render manifest", id, handoff.Unavailable, reason(err), "the record stands; the next change of the session renders it again")
}

// settle renders, and looks again until what it rendered is still so. The
// renderer that replaces the file last thus looks after everyone's records.
func settle(compute func() ([]byte, error), replace func([]byte) error) error {
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

// manifest returns the bytes of a session's manifest as of now.
func (ss *Sessions) manifest(ctx context.Context, id string) ([]byte, error) {
	s, artifacts, err := ss.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := NewManifest(s, artifacts)
	if err != nil {
		return nil, err
	}
	return m.JSON(s.Adopted)
}

// Read returns a session and all its artifacts, newest first. Its kind is
// NotFound.
func (ss *Sessions) Read(ctx context.Context, id string) (handoff.Session, []handoff.Artifact, error) {
	s, err := ss.session(ctx, id)
	if err != nil {
		return s, nil, err
	}
	slot := "session"
	if s.Parent != "" {
		slot = "run"
	}
	page, err := ss.hub.Artifacts(ctx, handoff.ArtifactQuery{Producer: map[string]string{slot: id}, Hidden: true})
	return s, page.Artifacts, err
}

// replace puts the manifest's file in place as a whole, unless it says so
// already.
func (ss *Sessions) replace(root *os.Root, text []byte) error {
	if is, err := root.ReadFile(ManifestName); err == nil && bytes.Equal(is, text) {
		return nil
	}
	var random [8]byte
	if _, err := io.ReadFull(ss.Rand, random[:]); err != nil {
		return err
	}
	temporary := "." + ManifestName + "." + hex.EncodeToString(random[:])
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = root.Rename(temporary, ManifestName)
	}
	if err != nil {
		root.Remove(temporary)
		return err
	}
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// isInternal reports whether a file of a session's folder is handoff's own.
func isInternal(name string) bool {
	ok, _ := path.Match("."+ManifestName+".*", name)
	return name == ManifestName || ok
}

func indented(v any) ([]byte, error) {
	b, err := handoff.EncodeJSONIndent(v)
	return append(b, '\n'), err
}

func decode(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode(v)
}
