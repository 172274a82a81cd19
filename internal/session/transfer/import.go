package transfer

import (
	"archive/tar"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/logcopy"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
	"github.com/agent-handoff/handoff/session"
)

// A verified is a file that was read completely and found to be a valid export.
type verified struct {
	session.TransferManifest
	id      string // of the import: by it, a repetition continues an interrupted one
	sums    map[string]string
	entries []storedEntry // the files and directories of the session
	bodies  map[string]storedEntry
	records []handoff.Record
}

// A storedEntry is where the content of an entry is.
type storedEntry struct {
	name         string
	offset, size int64
	executable   bool
}

// Import imports an exported session, with the IDs that it has.
//
// Kinds: Invalid (the file is not a valid export), Conflict (a session, artifact or
// folder exists already), Unavailable, and those of Log.Append.
func (t *Transfer) Import(ctx context.Context, file string) (session.Transfer, error) {
	f, err := open(file)
	if err != nil {
		return session.Transfer{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	var v *verified
	if err == nil {
		v, err = verify(ctx, f, info.Size())
	}
	if err == nil {
		err = t.checkFolder(v)
	}
	if ctx.Err() != nil {
		return session.Transfer{}, ctx.Err()
	}
	if err != nil {
		return session.Transfer{}, handoff.E("import", file, handoff.Invalid, err,
			handoff.Advice("nothing was imported; export the session again"))
	}
	done := session.Transfer{TransferManifest: v.TransferManifest, File: file}
	lost, err := t.isLost(ctx, v)
	if err == nil && lost {
		if err = t.Sessions.Locked(ctx, func() error { return t.store(ctx, f, v) }); err == nil {
			done.Warnings, err = t.Sessions.Restore(ctx, v.SessionID)
		}
		return done, err
	}
	if err == nil {
		err = t.Sessions.Locked(ctx, func() (err error) {
			done.Warnings, err = t.add(ctx, f, v)
			return err
		})
	}
	if err != nil {
		return done, err
	}
	if err := t.Sessions.Render(ctx, v.SessionID); err != nil {
		done.Warnings = append(done.Warnings, err.Error())
	}
	return done, nil
}

// add copies the bodies, the records and the files of a session that is new here, and records that
// they count.
func (t *Transfer) add(ctx context.Context, f io.ReaderAt, v *verified) ([]string, error) {
	there, err := t.checkNew(ctx, v)
	if err != nil {
		return nil, err
	}
	o := logcopy.Options{Import: v.id}
	if t.Origin != nil {
		if o.Origin, err = t.Origin(); err != nil {
			return nil, err
		}
	}
	from := logcopy.Side{Log: &logcopy.Records{List: v.records}, Bodies: verifiedBodies{v: v, from: f}}
	if _, err := logcopy.Copy(ctx, from, t.To, o); err != nil {
		return nil, err
	}
	if !there {
		if err := t.store(ctx, f, v); err != nil {
			return nil, err
		}
	}
	_, warnings, err := t.Hub.Record(ctx,
		&handoff.SessionImported{SessionID: v.SessionID, Import: v.id, Records: len(v.records)})
	return warnings, err
}

// verifiedBodies are the bodies in a file.
type verifiedBodies struct {
	handoff.Bodies
	v    *verified
	from io.ReaderAt
}

func (b verifiedBodies) Open(_ context.Context, d handoff.Digest) (io.ReadSeekCloser, error) {
	e, ok := b.v.bodies[d.Value]
	if !ok {
		return nil, handoff.NotFound
	}
	return openBody{io.NewSectionReader(b.from, e.offset, e.size)}, nil
}

type openBody struct{ *io.SectionReader }

func (openBody) Close() error { return nil }

// open opens an export. It never waits, also not for the writer of a pipe.
func open(file string) (*os.File, error) {
	f, err := plainfile.OpenLinked(file)
	if err == nil {
		return f, nil
	}
	kind := handoff.NotFound
	if errors.Is(err, plainfile.ErrNotRegular) {
		kind = handoff.Invalid
	}
	return nil, handoff.E("import", file, kind, durable.Reason(err), handoff.Advice("name a file that handoff exported"))
}

// A counted reader counts the bytes that are read.
type counted struct {
	from io.Reader
	n    int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n += int64(n)
	return n, err
}

// verify reads a file completely and writes nothing.
func verify(ctx context.Context, f io.Reader, size int64) (*verified, error) {
	v := &verified{sums: map[string]string{}, bodies: map[string]storedEntry{}}
	at := &counted{from: bufio.NewReader(f)}
	tr := tar.NewReader(at)
	manifest, err := v.head(tr, manifestName, maxManifest, size)
	if err != nil {
		return nil, err
	}
	sums, err := v.head(tr, checksumsName, maxChecksums, size)
	if err != nil {
		return nil, err
	}
	if err := v.parse(manifest, sums); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(manifest, sums...))
	v.id = hex.EncodeToString(sum[:16])
	seen := map[string]bool{}
	err = each(ctx, tr, size, func(h *tar.Header, r io.Reader) error {
		name := strings.TrimSuffix(h.Name, "/")
		if seen[name] {
			return errors.New("is in the file twice")
		}
		seen[name] = true
		e := storedEntry{h.Name, at.n, h.Size, h.Mode&0o100 != 0}
		if strings.HasPrefix(h.Name, filesDir) {
			v.entries = append(v.entries, e)
		}
		if h.Typeflag == tar.TypeDir {
			return nil
		}
		if body, ok := strings.CutPrefix(h.Name, bodiesDir); ok {
			v.bodies[body] = e
		}
		return v.content(h, r)
	})
	if err != nil {
		return nil, err
	}
	for name := range v.sums {
		if !seen[name] {
			return nil, fmt.Errorf("entry %s is missing", name)
		}
	}
	return v, v.checkRecords()
}

// content verifies the content of one entry.
func (v *verified) content(h *tar.Header, r io.Reader) error {
	want, ok := v.sums[h.Name]
	if !ok {
		return errors.New("has no checksum")
	}
	sum := sha256.New()
	r = io.TeeReader(r, sum)
	if h.Name == recordsName {
		if h.Size > maxRecords {
			return errors.New("is too large")
		}
		if err := v.parseRecords(r); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	got := hex.EncodeToString(sum.Sum(nil))
	if got != want {
		return errors.New("does not match its checksum")
	}
	if body, ok := strings.CutPrefix(h.Name, bodiesDir); ok && body != got {
		return errors.New("does not match the digest that is its name")
	}
	return nil
}

// head reads one of the first entries, which must have a name.
func (v *verified) head(tr *tar.Reader, name string, limit, size int64) ([]byte, error) {
	h, err := tr.Next()
	switch {
	case err != nil:
		return nil, fmt.Errorf("not an exported session: %s is missing", name)
	case h.Name != name || h.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("not an exported session: found %q in place of %s", h.Name, name)
	case h.Size > limit || h.Size > size:
		return nil, fmt.Errorf("entry %s is too large", name)
	}
	return io.ReadAll(tr)
}

// each calls do for every remaining entry. It refuses what an export never writes.
func each(ctx context.Context, tr *tar.Reader, size int64, do func(*tar.Header, io.Reader) error) error {
	total := int64(0)
	for n := 0; ; n++ {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("invalid tar file: %w", err)
		}
		total += h.Size
		switch err = checkName(h.Name); {
		case ctx.Err() != nil:
			return ctx.Err()
		case n == maxEntries:
			return fmt.Errorf("more than %d entries", maxEntries)
		case h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink:
			err = errors.New("is a link")
		case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
			err = errors.New("is a device or another special file")
		case err == nil && total > size:
			err = errors.New("is larger than the file that contains it")
		case err == nil && (h.Typeflag == tar.TypeDir) != strings.HasSuffix(h.Name, "/"):
			err = errors.New("has a name of another type")
		}
		if err == nil {
			err = do(h, tr)
		}
		if err != nil {
			return fmt.Errorf("entry %q %w", h.Name, err)
		}
	}
}

func (v *verified) parse(manifest, sums []byte) error {
	if err := json.Unmarshal(manifest, &v.TransferManifest); err != nil || v.Format != format {
		return fmt.Errorf("not an exported session: invalid %s", manifestName)
	}
	if v.Version != formatVersion {
		return fmt.Errorf("version %d of the format is not known", v.Version)
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if len(v.sums) == maxEntries {
			return fmt.Errorf("%s has more than %d entries", checksumsName, maxEntries)
		}
		if !ok || len(sum) != 64 || v.sums[name] != "" {
			return fmt.Errorf("invalid line in %s", checksumsName)
		}
		v.sums[name] = sum
	}
	return nil
}

// parseRecords reads one record of each line. A line is never longer than a record may be.
func (v *verified) parseRecords(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, handoff.MaxRecord+1)
	for lines.Scan() {
		r, err := handoff.ParseRecord(bytes.Clone(lines.Bytes()))
		if err != nil {
			return fmt.Errorf("has an invalid record %d: %w", len(v.records)+1, err)
		}
		v.records = append(v.records, r)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("has an invalid record %d: has more than %d bytes", len(v.records)+1, handoff.MaxRecord)
	}
	return lines.Err()
}

// checkRecords returns an error unless the records are those of the session that the
// manifest names, and of its runs.
func (v *verified) checkRecords() error {
	if len(v.records) != v.Records {
		return fmt.Errorf("%d records, but the manifest has %d", len(v.records), v.Records)
	}
	t, ids, folder := newTree(nil), map[string]bool{}, ""
	for i, r := range v.records {
		if ids[r.ID] {
			return fmt.Errorf("record %d has the ID of another", i+1)
		}
		ids[r.ID] = true
		f, ok := r.Fact.(*handoff.SessionOpened)
		if !ok || t.sessions[f.SessionID] {
			continue
		}
		switch {
		case len(t.sessions) == 0 && (f.SessionID != v.SessionID || f.Parent != ""):
			return fmt.Errorf("the records are those of session %q, but the manifest names %q", f.SessionID, v.SessionID)
		case len(t.sessions) == 0:
			folder = f.Folder
		case !t.sessions[f.Parent]:
			return fmt.Errorf("session %q does not belong to session %q", f.SessionID, v.SessionID)
		case f.Folder != "" && !strings.HasPrefix(f.Folder, folder+"/"):
			return fmt.Errorf("the folder of run %q is outside that of its session", f.SessionID)
		}
		t.sessions[f.SessionID] = true
	}
	if len(t.sessions) != v.Sessions || v.Sessions == 0 {
		return fmt.Errorf("%d sessions, but the manifest has %d", len(t.sessions), v.Sessions)
	}
	if folder != v.Folder {
		return errors.New("the manifest and the records name different folders")
	}
	for i, r := range v.records {
		if err := t.check(r); err != nil {
			return fmt.Errorf("record %d %w", i+1, err)
		}
	}
	for digest, id := range t.needed(v.records) {
		if v.sums[bodiesDir+digest] == "" {
			return fmt.Errorf("the body of %s is missing", id)
		}
	}
	return nil
}

// checkFolder returns an error unless files may be written to the session's folder.
func (t *Transfer) checkFolder(v *verified) error {
	if v.Folder == "" {
		return nil
	}
	if err := handoff.CheckSessionFolder(v.Folder); err != nil {
		return err
	}
	if !fs.ValidPath(v.Folder) || !strings.HasPrefix(v.Folder, t.Store.Outputs+"/") || strings.Contains("/"+v.Folder, "/.") {
		return fmt.Errorf("folder %q is outside {agent_outputs_folder}, %q", v.Folder, t.Store.Outputs)
	}
	return nil
}

// checkNew returns an error of kind Conflict if the workspace has a session, an artifact,
// a name or a key of the import, or its folder and not all of its records: a folder is
// there only after them, and complete.
func (t *Transfer) checkNew(ctx context.Context, v *verified) (folder bool, err error) {
	exists := func(what string) (bool, error) {
		return false, handoff.E("import", v.SessionID, handoff.Conflict, errors.New(what+" exists already"),
			handoff.Suggest("show what is recorded", handoff.ActionShow, v.SessionID))
	}
	for _, r := range v.records {
		switch f := r.Fact.(type) {
		case *handoff.SessionOpened:
			if s, err := t.Hub.Session(ctx, f.SessionID); err == nil && s.Opened != 0 {
				return exists("session " + f.SessionID)
			}
		case *handoff.ArtifactPublished:
			for _, q := range []handoff.ArtifactQuery{{IDPrefix: r.ID}, {Key: f.Key}, {Namespace: f.Namespace, Name: f.Name}} {
				if q.IDPrefix == "" && q.Key == "" && q.Name == "" {
					continue
				}
				q.IncludeInactive, q.Limit = true, 1
				page, err := t.Hub.Artifacts(ctx, q)
				if err != nil {
					return false, err
				}
				if len(page.Artifacts) > 0 {
					return exists("artifact " + page.Artifacts[0].ID + ", or its name or key,")
				}
			}
		}
	}
	if folder, err = t.Sessions.Exists(v.Folder); err != nil || !folder {
		return false, err
	}
	missing := map[string]bool{}
	for _, r := range v.records {
		missing[r.ID] = true
	}
	for r, err := range t.Store.Log.Read(ctx, 0) {
		if err != nil {
			return false, err
		}
		if r.Import == v.id {
			delete(missing, r.ID)
		}
	}
	if len(missing) > 0 {
		return exists("folder " + v.Folder)
	}
	return true, nil
}

// store stores the files in the folder of the session, which does not exist, in one step.
func (t *Transfer) store(ctx context.Context, f io.ReaderAt, v *verified) error {
	if v.Folder == "" && len(v.entries) > 0 {
		return handoff.E("import", v.SessionID, handoff.Invalid, errors.New("has files and no folder"), handoff.Hint{})
	}
	if v.Folder == "" {
		return nil
	}
	files := t.Sessions.Files
	staged := path.Join(path.Dir(v.Folder), ".import-"+v.id[:12])
	err := files.RemoveAll(filepath.FromSlash(staged)) // of an import that was killed
	if err == nil {
		err = files.MkdirAll(filepath.FromSlash(staged), 0o777)
	}
	for _, e := range v.entries {
		if err == nil {
			err = cmp.Or(ctx.Err(), v.storeEntry(files, f, e, staged))
		}
	}
	if err == nil {
		err = files.Rename(filepath.FromSlash(staged), filepath.FromSlash(v.Folder))
	}
	if err != nil {
		_ = files.RemoveAll(filepath.FromSlash(staged)) // else the next import removes it
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return handoff.E("import", v.SessionID, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("check that the workspace is writable and has free space, then import the file again"))
	}
	return durable.SyncDir(files, filepath.FromSlash(path.Dir(v.Folder)))
}

// storeEntry stores one file or directory.
func (v *verified) storeEntry(files *os.Root, f io.ReaderAt, e storedEntry, staged string) error {
	name := filepath.FromSlash(path.Join(staged, strings.TrimPrefix(e.name, filesDir)))
	if strings.HasSuffix(e.name, "/") {
		return files.MkdirAll(name, 0o777)
	}
	if err := files.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	sum := sha256.New()
	err := durable.Create(files, name, func(w io.Writer) error {
		_, err := io.Copy(io.MultiWriter(w, sum), io.NewSectionReader(f, e.offset, e.size))
		return err
	})
	if err == nil && hex.EncodeToString(sum.Sum(nil)) != v.sums[e.name] {
		err = errors.New("file has changed since it was verified")
	}
	if err == nil && e.executable {
		err = files.Chmod(name, 0o755)
	}
	return err
}
