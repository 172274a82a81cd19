package filelog

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-handoff/handoff"
)

// What there is below the runtime directory, beside the shards.
const (
	idName     = "log/ID"
	tmpDir     = "log/tmp"
	recordsDir = "artifacts/records"
)

// Make makes the runtime directory and an empty log in it, if they are
// missing. Append does so by itself.
//
// Kinds: Unavailable, and Unsupported where the file system has no hard links.
func (l *Log) Make() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made {
		return nil
	}
	there, err := l.disk.exists(idName)
	if err == nil && !there {
		err = l.makeAll()
	}
	if err != nil {
		return l.failure("create log", err)
	}
	l.made = true
	return nil
}

// makeAll links the log's identity last, so that a log that has one is whole.
func (l *Log) makeAll() error {
	above, err := l.makeAbove()
	if err != nil {
		return err
	}
	var made []string
	for _, name := range []string{".", "log", "artifacts", recordsDir, "bodies", bodiesDir} {
		err := l.disk.mkdir(name)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err == nil {
			made = append(made, name)
		}
	}
	err = l.makeFile(".gitignore", "*\n")
	if err == nil {
		err = l.makeID(above)
	}
	if noLinks(err) {
		os.Remove(filepath.Join(l.dir, tmpDir)) // where a named temporary was
		for _, name := range slices.Backward(made) {
			os.Remove(filepath.Join(l.dir, name))
		}
		return &handoff.Error{Op: "create log", Name: l.dir, Kind: handoff.Unsupported,
			Err:  errors.New("the file system has no hard links"),
			Hint: handoff.Advice("set HANDOFF_DIR to a directory on a file system that has")}
	}
	return err
}

// makeAbove makes the directories above the runtime directory, and returns
// those that hold a new one.
func (l *Log) makeAbove() ([]string, error) {
	holders, parent := []string{".."}, filepath.Dir(l.dir)
	for dir := parent; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return holders, os.MkdirAll(parent, 0o777)
		}
		holders = append(holders, holders[len(holders)-1]+"/..")
	}
}

func (l *Log) makeID(above []string) error {
	for _, dir := range append([]string{"artifacts", "bodies", "."}, above...) {
		if err := l.disk.syncDir(dir); err != nil {
			return err
		}
	}
	id, err := newIdentity(l.random)
	if err != nil {
		return err
	}
	if err := l.makeFile(idName, id+"\n"); err != nil {
		return err
	}
	return l.disk.syncDir("log")
}

// makeFile makes a file whole, unless there is one.
func (l *Log) makeFile(name, content string) error {
	t, err := l.disk.create(strings.NewReader(content), recordMode)
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.sync(); err != nil {
		return err
	}
	if err := t.link(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// identitySize is how many random bytes an identity has.
const identitySize = 16

// newIdentity returns an identity, in hexadecimal.
func newIdentity(random io.Reader) (string, error) {
	var b [identitySize]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("no randomness: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

func noLinks(err error) bool {
	var link *os.LinkError
	if !errors.As(err, &link) {
		return false
	}
	for _, no := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EXDEV, syscall.EMLINK} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
