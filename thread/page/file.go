package page

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/thread"
)

// WriteFile writes what fill writes to a file. A regular file is created or replaced when
// everything was written: an existing one keeps its permissions, a new one has
// mode 0666 before umask, and if WriteFile fails, nothing has changed. Symbolic
// links are followed. A device or named pipe is written to. Kinds: those of fill,
// Invalid for a file in a directory of a tool of s, and Unavailable for the file.
func WriteFile(ctx context.Context, file string, s *thread.Set, fill func(io.Writer) error) error {
	err := writeFile(ctx, file, s, fill)
	var known *handoff.Error
	if err == nil || errors.As(err, &known) || ctx.Err() != nil {
		return err
	}
	return handoff.E("write", file, handoff.Unavailable, durable.Reason(err),
		handoff.Advice("name a file in a writable directory"))
}

func writeFile(ctx context.Context, file string, s *thread.Set, fill func(io.Writer) error) error {
	info, err := os.Stat(file)
	switch {
	case err == nil && info.IsDir():
		return errors.New("is a directory")
	case err == nil && !info.Mode().IsRegular():
		return writeDevice(ctx, file, fill)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	target, err := followLinks(file)
	if err != nil {
		return err
	}
	if err := checkTarget(target, s.Roots()); err != nil {
		return err
	}
	dir, err := os.OpenRoot(filepath.Dir(target))
	if err != nil {
		return err
	}
	defer dir.Close()
	return durable.Replace(dir, filepath.Base(target), fill)
}

// followLinks returns the file that a path leads to. The file need not exist.
func followLinks(file string) (string, error) {
	const most = 40 // as Linux
	for range most {
		to, err := os.Readlink(file)
		if err != nil {
			return file, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	return "", syscall.ELOOP
}

// checkTarget returns an error if a file is in one of these directories of tools.
func checkTarget(file string, dirs []string) error {
	var roots []os.FileInfo
	for _, root := range dirs {
		if info, err := os.Stat(root); err == nil {
			roots = append(roots, info)
		}
	}
	at, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return err
	}
	for path := filepath.Join(at, filepath.Base(file)); ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		for _, root := range roots {
			if err == nil && os.SameFile(info, root) {
				return handoff.E("write", file, handoff.Invalid, errors.New("in the directory of an agent program: "+path),
					handoff.Advice("name a file in another directory; files of agent programs are only read"))
			}
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// writeDevice writes to a device or named pipe. Like a shell, it waits for a
// process that reads from the pipe.
func writeDevice(ctx context.Context, file string, fill func(io.Writer) error) error {
	const pause = 10 * time.Millisecond
	f, err := os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	for errors.Is(err, syscall.ENXIO) && isPipe(file) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		f, err = os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return err
	}
	return errors.Join(fill(f), f.Close())
}

func isPipe(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode()&fs.ModeNamedPipe != 0
}
