package content

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
)

// StoredDir is where the runtime directory holds bodies that have no other
// place, each below its artifact's id.
const StoredDir = "artifacts/files"

// Store implements handoff.Files.
func (s *Files) Store(ctx context.Context, id string, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies) (discard func(), err error) {
	if d.Name != "" {
		return func() {}, s.keepNamed(ctx, d, p, to)
	}
	name := cmp.Or(d.Filename, filename(d.MediaType))
	if name != path.Base(name) || !filepath.IsLocal(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return nil, &handoff.Error{Op: "publish", Name: name, Kind: handoff.Invalid, Err: errors.New("is no plain file name"),
			Hint: handoff.Advice("name the file without a directory")}
	}
	if s.Runtime == nil {
		return nil, &handoff.Error{Op: "publish", Name: "-", Kind: handoff.Unsupported, Err: errors.New("there is no runtime directory to store it in"),
			Hint: handoff.Advice("write it to a file of the workspace, and publish that")}
	}
	root, err := s.Runtime()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	dir := path.Join(StoredDir, id)
	discard = func() {
		if root, err := s.Runtime(); err == nil {
			root.RemoveAll(dir)
			root.Remove(StoredDir) // if it is empty
			root.Close()
		}
	}
	file := path.Join(dir, name)
	if err := writeFile(ctx, root, file, d.Body); err != nil {
		discard()
		return nil, &handoff.Error{Op: "publish", Name: "-", Kind: handoff.Unavailable, Err: reason(err),
			Hint: handoff.Advice("write it to a file of the workspace, and publish that; HANDOFF_DIR moves the runtime directory")}
	}
	p.TargetType = "file"
	p.Path, p.Root = file, handoff.RuntimeRoot
	if s.RuntimePath != "" {
		p.Path, p.Root = path.Join(s.RuntimePath, file), ""
	}
	if err := s.measure(ctx, root, file, d, p, to); err != nil {
		discard()
		return nil, err
	}
	return discard, nil
}

// keepNamed keeps the body of a name and describes it. Its file is rendered by
// whoever gave the name, once the record stands.
func (s *Files) keepNamed(ctx context.Context, d handoff.Draft, p *handoff.ArtifactPublished, to handoff.Bodies) (err error) {
	seen := &headWriter{}
	r := io.TeeReader(readerOf(ctx, d.Body), seen)
	if to == nil {
		p.Digest, err = digestOf(ctx, r)
	} else {
		p.Digest, err = to.Put(ctx, r)
	}
	p.TargetType, p.SizeBytes, p.Kept = "file", &seen.n, to != nil
	classify(p, seen.head)
	return err
}

// writeFile writes a new file and the directories above it: when it returns,
// they are on stable storage.
func writeFile(ctx context.Context, root *os.Root, name string, body io.Reader) error {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	temporary := path.Join(dir, ".tmp-"+path.Base(name))
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer root.Remove(temporary)
	_, err = io.Copy(f, readerOf(ctx, body))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := root.Rename(temporary, name); err != nil {
		return err
	}
	for ; ; dir = path.Dir(dir) {
		if err := syncDir(root, dir); err != nil || dir == "." {
			return err
		}
	}
}

func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
