package doctor

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/cmd/internal/stamp"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// findPath looks at what a shell starts as handoff, agent-handoff and git.
func findPath(_ context.Context, m *Machine, f *findings) {
	if m.LookPath("git") == "" {
		f.problem("git is not on PATH; handoff needs it in repositories", handoff.Advice("install git"))
	}
	this := build(m.Self)
	if found := m.LookPath("handoff"); found != "" && !sameFile(found, m.Self) {
		switch other := build(found); {
		case other.path != this.path:
			f.warn(found+" is another program named handoff; shells start it", handoff.Advice(
				"call this one agent-handoff, or put "+filepath.Dir(m.Self)+" first in PATH"))
		case other.version != this.version:
			f.warn(found+" is another version ("+other.version+") than this program ("+this.version+
				"); shells start it", handoff.Advice("install one version, or put "+filepath.Dir(m.Self)+" first in PATH"))
		}
	}
	found := m.LookPath("agent-handoff")
	if found == "" {
		f.warn("agent-handoff is not on PATH; plugins and the files of a project call it", handoff.Advice(
			"add the directory that has agent-handoff to PATH"))
		return
	}
	switch other := build(found); {
	case other.path != this.path:
		f.problem(found+" is another program named agent-handoff; agent programs start it", handoff.Advice(
			"put the directory of this one first in PATH"))
	case other.version != this.version:
		f.warn(found+" is another version ("+other.version+") than this program ("+this.version+
			"); agent programs start it", handoff.Advice("install both from one release"))
	}
}

// A program is what a binary says about itself.
type program struct{ path, version string }

// infoFrame has, in hexadecimal, what comes before and after the information about its
// build in every Go program (cmd/go/internal/modload).
var infoFrame = [2]string{"3077af0c9274080241e1c107e6d618e6", "f932433186182072008242104116d8f2"}

// maxBinary is the size of a program up to which it is read.
const maxBinary = 256 << 20

// build reads what a binary says about itself, without running it. One that says nothing is
// the zero program. It searches the file: debug/buildinfo would add the readers of all
// formats of programs, 0.6 MB.
func build(file string) program {
	if s, err := os.Stat(file); err != nil || !s.Mode().IsRegular() || s.Size() > maxBinary {
		return program{}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return program{}
	}
	start, _ := hex.DecodeString(infoFrame[0])
	end, _ := hex.DecodeString(infoFrame[1])
	_, text, _ := bytes.Cut(b, start)
	text, _, found := bytes.Cut(text, end)
	info, err := debug.ParseBuildInfo(string(text))
	if !found || err != nil {
		return program{}
	}
	if version := stamp.Find(b); version != "" {
		return program{info.Main.Path, version}
	}
	p := program{info.Main.Path, info.Main.Version}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && p.version == "(devel)" {
			p.version = s.Value
		}
	}
	return p
}

func sameFile(a, b string) bool {
	first, err1 := os.Stat(a)
	second, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(first, second)
}

// findDirectories looks at the user's own directories.
func findDirectories(_ context.Context, m *Machine, f *findings) {
	if !filepath.IsAbs(m.Getenv("HOME")) {
		f.problem("HOME is not set", handoff.Advice("set HOME to your home directory"))
	}
	for _, d := range []struct{ dir, variable, loss string }{
		{userdir.Config(m.Getenv), "XDG_CONFIG_HOME", "settings can't be changed"},
		{userdir.State(m.Getenv), "XDG_STATE_HOME", "what this machine knows of logs is not remembered"},
		{userdir.Cache(m.Getenv), "XDG_CACHE_HOME", "each command that needs an index reads all transcripts"},
	} {
		if err := probe(existing(d.dir)); err != nil {
			f.problem(d.dir+" can't be written ("+durable.Reason(err).Error()+"); "+d.loss,
				handoff.Advice("make it writable, or set "+d.variable+" to another directory"))
		}
	}
}

// existing returns the nearest directory above a path that exists, the path itself if
// it does.
func existing(dir string) string {
	for dir != "" && dir != filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir
}

// probe creates a file in a directory by a link, as everything that is stored is
// created, and removes it. A file that exists is never removed: a repository can bring
// one with the same name. Without a directory, probe does nothing.
func probe(dir string) error {
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name := fmt.Sprintf(".handoff-doctor-%d", os.Getpid()) // package durable's prefix of temporary files
	err = durable.Create(root, name, func(io.Writer) error { return nil })
	switch {
	case err == nil:
		return root.Remove(name)
	case errors.Is(err, fs.ErrExist):
		return nil
	}
	return err
}

// noLinks reports whether an error of probe says that there are no hard links.
func noLinks(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOTSUP, syscall.EPERM, syscall.ENOSYS, syscall.EOPNOTSUPP},
		func(e error) bool { return errors.Is(err, e) })
}
