package filelog

import (
	"context"
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

// The contents of the log's directory, apart from the shards.
const (
	idName     = "log/ID"
	tmpDir     = "log/tmp"
	recordsDir = "artifacts/records"
)

// Create creates the log's directory and an empty log in it, if they are
// missing. Append and Put do so by themselves.
//
// Kinds: Unavailable, Corrupt if only parts of a log exist, and Unsupported if the file system has no hard links.
func (l *Log) Create() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.made {
		return nil
	}
	if err := l.createMissing(); err != nil {
		return l.failure("create log", err)
	}
	l.made = true
	return nil
}

// createMissing creates the log if it does not exist. A log that has no record
// yet may not be durable: nothing else may become so before its ID.
func (l *Log) createMissing() error {
	there, err := l.disk.exists(idName)
	if err != nil {
		return err
	}
	if !there {
		if l.elsewhere {
			return l.createAll()
		}
		id, err := l.ID(context.Background()) // refuses a log that lost its ID
		if err == nil && id == "" {
			err = l.createAll()
		}
		return err
	}
	if there, err = l.disk.exists(l.shardName(1)); err != nil || there {
		return err
	}
	return l.disk.syncDir("log")
}

// createAll links the log's ID last, so that a log with an ID is complete. The
// ID is also the trial of whether the file system has hard links.
func (l *Log) createAll() error {
	parents, err := l.createParents()
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
	err = l.createID(parents)
	if noLinks(err) {
		os.Remove(filepath.Join(l.dir, tmpDir)) // where a named temporary was
		for _, name := range slices.Backward(made) {
			os.Remove(filepath.Join(l.dir, name))
		}
		return handoff.E("create log", l.dir, handoff.Unsupported, errors.New("the file system has no hard links"),
			handoff.Hint{}.OrSet("HANDOFF_DIR to a directory on a file system with hard links"))
	}
	return err
}

// createParents creates the directories above the log's own, and returns those
// that contain a new one.
func (l *Log) createParents() ([]string, error) {
	changed, parent := []string{".."}, filepath.Dir(l.dir)
	for dir := parent; ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return changed, os.MkdirAll(parent, 0o777)
		}
		changed = append(changed, changed[len(changed)-1]+"/..")
	}
}

func (l *Log) createID(parents []string) error {
	for _, dir := range append([]string{"artifacts", "bodies", "."}, parents...) {
		if err := l.disk.syncDir(dir); err != nil {
			return err
		}
	}
	id, err := newID(l.random)
	if err != nil {
		return err
	}
	if err := l.createFile(idName, id+"\n"); err != nil {
		return err
	}
	return l.disk.syncDir("log")
}

// createFile creates a complete file, unless there is one.
func (l *Log) createFile(name, content string) error {
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

// idSize is the number of random bytes in a log's ID.
const idSize = 16

// newID returns a random ID in hexadecimal.
func newID(random io.Reader) (string, error) {
	var b [idSize]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

func noLinks(err error) bool {
	var link *os.LinkError
	if !errors.As(err, &link) {
		return false
	}
	for _, no := range []error{syscall.EPERM, syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EXDEV,
		syscall.EMLINK} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
