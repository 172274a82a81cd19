package transfer

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/internal/session/manifest"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/session"
)

// An entry is one entry of a file that is written.
type entry struct {
	name   string
	size   int64
	mode   int64
	sum    string // "" for a directory
	open   func() (io.ReadCloser, error)
	folder bool
}

// Export writes a session with its runs to a new file, absolute.
//
// Kinds: NotFound, Invalid (a run), Conflict (the file exists; a file of the session
// changes), Corrupt (a record can't be read, a kept body is missing), Unavailable.
func (t *Transfer) Export(ctx context.Context, id, file string) (done session.Transfer, err error) {
	s, err := t.Sessions.Session(ctx, id)
	if err != nil {
		return done, err
	}
	if s.Parent != "" {
		return done, handoff.E("export", id, handoff.Invalid, errors.New("is a run inside a session"),
			handoff.Advice("name its session, "+s.Parent))
	}
	err = t.Sessions.Locked(ctx, func() error {
		if s, err = t.Sessions.Session(ctx, id); err != nil {
			return err
		}
		entries, warnings, err := t.entries(ctx, s, &done.TransferManifest)
		if err != nil {
			return err
		}
		done.File, done.Warnings = file, warnings
		done.SizeBytes, err = write(ctx, file, done.TransferManifest, entries)
		return err
	})
	return done, err
}

// entries returns the entries after the manifest and the checksums, with their sums,
// and completes the manifest.
func (t *Transfer) entries(ctx context.Context, s handoff.Session, m *session.TransferManifest) (list []entry,
	warnings []string,
	err error) {
	sessions, err := t.Sessions.Tree(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	*m = session.TransferManifest{Format: format, Version: formatVersion, SessionID: s.ID, Folder: s.Folder,
		Sessions: len(sessions)}
	of := newTree(sessions)
	to := &logcopy.Records{}
	bodies := collectedBodies{sizes: map[string]int64{}}
	copied, err := logcopy.Copy(ctx, logcopy.Side{Log: t.Store.Log, Bodies: t.Store.Bodies},
		logcopy.Side{Log: to, Bodies: bodies},
		logcopy.Options{Select: of.has, Redact: true})
	for _, id := range copied.Missing {
		if err == nil && handoff.IsArtifactID(id) && !of.withdrawn[id] {
			err = handoff.E("export", s.ID, handoff.Corrupt, fmt.Errorf("the kept body of %s is missing", id),
				handoff.Suggest("list every problem", handoff.ActionCheck))
		}
	}
	if err != nil {
		return nil, nil, err
	}
	var records []byte
	for _, r := range to.List {
		b, err := plain(r)
		if err != nil {
			return nil, nil, err
		}
		records = append(append(records, bytes.TrimSpace(b)...), '\n')
	}
	m.Records, m.Bodies = copied.Copied, len(bodies.sizes)
	list = append(list, entry{name: recordsName, size: int64(len(records)), mode: 0o644,
		open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(records)), nil }})
	for _, value := range slices.Sorted(maps.Keys(bodies.sizes)) {
		list = append(list, entry{name: bodiesDir + value, size: bodies.sizes[value], sum: value,
			mode: 0o644, open: func() (io.ReadCloser, error) {
				return t.Store.Bodies.Open(ctx, handoff.Digest{Algorithm: handoff.SHA256, Value: value})
			}})
	}
	files, warnings, err := t.files(s)
	m.Files = len(files)
	list = append(list, files...)
	if err == nil && (len(list) > maxEntries || len(records) > maxRecords) {
		err = handoff.E("export", s.ID, handoff.Invalid,
			fmt.Errorf("has %d files, directories and bodies and %d bytes of records; an export has at most %d and %d",
				len(list), len(records), maxEntries, maxRecords), handoff.Advice("pack directories with many files into one file"))
	}
	for i := range list {
		if err == nil && !list[i].folder && list[i].sum == "" {
			err = list[i].digest(ctx)
		}
	}
	return list, warnings, err
}

// collectedBodies are the sizes of the bodies that an export has, by digest.
type collectedBodies struct {
	handoff.Bodies
	sizes map[string]int64
}

func (b collectedBodies) Has(_ context.Context, d handoff.Digest) (bool, error) {
	_, has := b.sizes[d.Value]
	return has, nil
}

func (b collectedBodies) Put(_ context.Context, r io.Reader) (handoff.Digest, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	d := handoff.Digest{Algorithm: handoff.SHA256, Value: hex.EncodeToString(h.Sum(nil))}
	b.sizes[d.Value] = n
	return d, err
}

// files returns the files and directories in the folder of a session. Links, devices and
// names that an import refuses are left out, with a warning.
func (t *Transfer) files(s handoff.Session) (list []entry, warnings []string, err error) {
	if s.Folder == "" {
		return nil, nil, nil
	}
	skipped := 0
	var left []string
	err = fs.WalkDir(t.Sessions.Files.FS(), s.Folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || name == s.Folder {
			return err
		}
		inside := strings.TrimPrefix(name, s.Folder+"/")
		if err := checkName(filesDir + inside); err != nil { // an import refuses it
			if left = append(left, fmt.Sprintf("%q %v", inside, err)); d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.IsDir():
			list = append(list, entry{name: filesDir + inside + "/", mode: 0o755, folder: true})
		case inside == manifest.Name: // is rendered from the records
		case !info.Mode().IsRegular():
			skipped++
		default:
			list = append(list, entry{name: filesDir + inside, size: info.Size(), mode: int64(info.Mode().Perm()),
				open: func() (io.ReadCloser, error) { return t.Sessions.Files.Open(filepath.FromSlash(name)) }})
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, []string{"the folder " + s.Folder + " does not exist; its files are not exported"}, nil
	}
	if err != nil {
		err = handoff.E("export", s.ID, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the files of the session readable"))
	}
	if skipped > 0 {
		warnings = append(warnings, fmt.Sprintf("%d links or special files are not exported", skipped))
	}
	if n, shown := len(left), left[:min(len(left), 3)]; n > 0 {
		warnings = append(warnings, fmt.Sprintf("%d files or directories are not exported: %s", n, strings.Join(shown, "; ")))
	}
	return list, warnings, err
}

// digest reads the content and sets its sum.
func (e *entry) digest(ctx context.Context) error {
	h := sha256.New()
	if err := e.copyTo(ctx, h); err != nil {
		return err
	}
	e.sum = hex.EncodeToString(h.Sum(nil))
	return nil
}

// copyTo copies the content, which must have its size.
func (e *entry) copyTo(ctx context.Context, to io.Writer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	from, err := e.open()
	if err != nil {
		return err
	}
	defer from.Close()
	n, err := io.Copy(to, io.LimitReader(from, e.size+1))
	if err == nil && n != e.size {
		err = handoff.E("export", e.name, handoff.Conflict, errors.New("the file changes"),
			handoff.Advice("retry when nothing writes to the session"))
	}
	return err
}

// write writes a tar file that must not exist, and returns its size.
func write(ctx context.Context, file string, m session.TransferManifest, list []entry) (size int64, err error) {
	manifest, err := handoff.EncodeJSON(m)
	if err != nil {
		return 0, err
	}
	var sums bytes.Buffer
	for _, e := range list {
		if !e.folder {
			fmt.Fprintf(&sums, "%s  %s\n", e.sum, e.name)
		}
	}
	if sums.Len() > maxChecksums {
		return 0, handoff.E("export", m.SessionID, handoff.Invalid,
			fmt.Errorf("the names of its files have more than %d bytes", maxChecksums),
			handoff.Advice("pack directories with many files into one file"))
	}
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return 0, handoff.E("export", file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("name a file in an existing directory"))
	}
	defer dir.Close()
	err = durable.Create(dir, filepath.Base(file), func(w io.Writer) error {
		tw := tar.NewWriter(w)
		if err := add(tw, manifestName, manifest); err != nil {
			return err
		}
		if err := add(tw, checksumsName, sums.Bytes()); err != nil {
			return err
		}
		for _, e := range list {
			if err := e.addTo(ctx, tw); err != nil {
				return err
			}
		}
		return tw.Close()
	})
	if info, failed := dir.Stat(filepath.Base(file)); err == nil && failed == nil {
		size = info.Size()
	}
	var known *handoff.Error
	switch {
	case errors.Is(err, fs.ErrExist):
		err = handoff.E("export", file, handoff.Conflict, errors.New("the file exists"), handoff.Advice("name another file"))
	case err != nil && !errors.As(err, &known) && ctx.Err() == nil:
		err = handoff.E("export", file, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("check that the directory is writable and has free space"))
	}
	return size, err
}

func (e entry) addTo(ctx context.Context, tw *tar.Writer) error {
	h := &tar.Header{Name: e.name, Mode: e.mode, Size: e.size, Typeflag: tar.TypeReg}
	if e.folder {
		h.Typeflag = tar.TypeDir
	}
	if err := tw.WriteHeader(h); err != nil || e.folder {
		return err
	}
	sum := sha256.New()
	if err := e.copyTo(ctx, io.MultiWriter(tw, sum)); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != e.sum {
		return handoff.E("export", e.name, handoff.Conflict, errors.New("the file changes"),
			handoff.Advice("retry when nothing writes to the session"))
	}
	return nil
}

func add(tw *tar.Writer, name string, b []byte) error {
	if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b)),
		Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	_, err := tw.Write(b)
	return err
}
