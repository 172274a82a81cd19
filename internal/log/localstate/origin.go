package localstate

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// originName is the name of the file with the random ID of a runtime directory,
// which records of a remote log carry. originSize is the number of its bytes.
const (
	originName = "origin"
	originSize = 16
)

// Origin returns the ID of the runtime directory, "" if it has none.
func (d *Dir) Origin() (string, error) {
	b, err := plainfile.Read(filepath.Join(d.path, originName), 2*originSize)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if _, invalid := hex.DecodeString(string(b)); err == nil && (invalid != nil || len(b) != 2*originSize) {
		err = errors.New("is damaged")
	}
	if err != nil {
		return "", handoff.E("read origin", filepath.Join(d.path, originName), handoff.Corrupt, durable.Reason(err),
			handoff.Advice("rename the file; a new one is created, and earlier files of this directory are then "+
				"treated as those of another machine"))
	}
	return string(b), nil
}

// NewOrigin returns the ID of the runtime directory, which it creates if there is
// none. The directory exists.
func (d *Dir) NewOrigin() (string, error) {
	if id, err := d.Origin(); id != "" || err != nil {
		return id, err
	}
	var id [originSize]byte
	_, err := io.ReadFull(d.rand, id[:])
	var root *os.Root
	if err == nil {
		root, err = os.OpenRoot(d.path)
	}
	if err == nil {
		err = durable.Create(root, originName,
			func(w io.Writer) error { _, err := io.WriteString(w, hex.EncodeToString(id[:])); return err })
		root.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return "", handoff.E("create origin", d.path, handoff.Unavailable, durable.Reason(err),
			handoff.UnwritableHint(d.path, err))
	}
	return d.Origin()
}
