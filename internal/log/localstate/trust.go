package localstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// runtimeDirs and runtimeFiles are the names in a runtime directory that handoff
// uses. A name need not exist. Shards of the log and of the bodies, and the files
// of the index, are checked when they are used.
//
// The directory is not trusted: a cloned repository can bring one. A link there
// would lead reads and writes out of the workspace.
var (
	runtimeDirs = []string{"log", "log/tmp", "bodies", "bodies/sha256", "artifacts", "artifacts/records",
		"artifacts/files", "git", "bucket", "queue"}
	runtimeFiles = []string{"log/ID", IgnoreName, "config.yaml", originName, MarkerName}
)

// checkTrust refuses a runtime directory that is a link, has a link or another
// irregular file where handoff uses a name, or belongs to another user or program.
//
// The user decides who named the directory: a link and another owner are accepted
// for a directory that the environment names, and another owner for one that the
// caller may write as a member of its group. root is warned.
//
// Kinds: Corrupt (an irregular file), Unavailable (the owner, a link), Invalid
// (another program).
func checkTrust(dir string, named bool) (warnings []string, err error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, nil // whoever opens it reports why it can't
	case info.Mode()&fs.ModeSymlink != 0 && !named:
		return nil, untrusted(dir, "is a symbolic link")
	case info.Mode()&fs.ModeSymlink != 0:
		if info, err = os.Stat(dir); err != nil {
			return nil, nil
		}
	}
	if !info.IsDir() {
		return nil, untrusted(dir, "is not a directory")
	}
	if !named && !ownedBy(info, os.Geteuid()) {
		if !groupMayWrite(info) && os.Geteuid() != 0 {
			return nil, untrusted(dir, "belongs to another user")
		}
		if os.Geteuid() == 0 {
			warnings = append(warnings, "the runtime directory "+dir+" belongs to another user")
		}
	}
	if err := checkNames(dir); err != nil {
		return warnings, err
	}
	_, err = inspect(dir)
	return warnings, err
}

func checkNames(dir string) error {
	for _, name := range runtimeDirs {
		if err := plainfile.CheckDir(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) &&
			!errors.Is(err, syscall.ENOTDIR) {
			return irregular(dir, name, err)
		}
	}
	for _, name := range runtimeFiles {
		err := plainfile.CheckFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return irregular(dir, name, err)
		}
	}
	return nil
}

func untrusted(dir, reason string) error {
	return handoff.E("open workspace", dir, handoff.Unavailable, errors.New(reason),
		handoff.Hint{}.OrSet("HANDOFF_DIR to "+dir+" if you trust it, otherwise to a directory of your own"))
}

func irregular(dir, name string, err error) error {
	if os.IsPermission(err) {
		return nil // whoever opens it reports it
	}
	return handoff.E("open workspace", filepath.Join(dir, name), handoff.Corrupt,
		fmt.Errorf("%w; it is not opened", err),
		handoff.Advice("find out what created it").OrSet("HANDOFF_DIR to another directory"))
}

func ownedBy(info fs.FileInfo, uid int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == uid
}

// groupMayWrite reports whether the caller may write a directory as a member of
// its group.
func groupMayWrite(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode().Perm()&0o020 == 0 {
		return false
	}
	if os.Getegid() == int(stat.Gid) {
		return true
	}
	groups, err := os.Getgroups()
	return err == nil && slices.Contains(groups, int(stat.Gid))
}
