package localstate

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/sqlindex"
	"github.com/agent-handoff/handoff/internal/tool/durable"
	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// MarkerName is the name of the file that tells a runtime directory of handoff from a
// directory of the same name of another program. It is no proof of where the content
// comes from: a repository can bring a marker, too.
const MarkerName = "HANDOFF"

// markerLine is the first line of a marker, format the number on its second line. A
// program does not write to a directory with a higher number.
const (
	markerLine = "This is the runtime directory of agent-handoff."
	format     = 1
	maxMarker  = 4 << 10
)

// A standing is what is known about a runtime directory from its entries.
type standing struct {
	marked bool   // it has a marker
	newer  int    // the format of its marker, if this program does not know it
	needs  string // the version that writes this format, "" if the marker does not say
}

// inspect returns the standing of a directory, the zero standing if there is none. A
// directory of another program is refused.
//
// A directory without a marker is handoff's if it has only what a person puts there
// before the first write and what reading leaves; or if it is in a bare repository, where
// it has the folders of sessions, too.
// Kinds: Invalid (another program's), Corrupt (the marker is no regular file).
func inspect(dir string) (standing, error) {
	for tries := 1; ; tries++ {
		s, err := inspectOnce(dir)
		// Another process may have written the marker since it was looked for.
		if err == nil || !errors.Is(err, handoff.Invalid) || tries == 3 {
			return s, err
		}
	}
}

func inspectOnce(dir string) (standing, error) {
	b, err := plainfile.Read(filepath.Join(dir, MarkerName), maxMarker)
	switch {
	case err == nil:
		return parseMarker(dir, b)
	case errors.Is(err, plainfile.ErrTooLarge):
		return standing{}, foreign(dir, MarkerName)
	case os.IsPermission(err):
		return standing{}, nil // whoever opens it reports it
	case !errors.Is(err, fs.ErrNotExist):
		return standing{}, irregular(dir, MarkerName, err)
	}
	if inBareRepository(dir) {
		return standing{}, nil
	}
	stranger, err := strangerIn(dir)
	if errors.Is(err, fs.ErrNotExist) || os.IsPermission(err) {
		return standing{}, nil
	}
	if err != nil {
		return standing{}, handoff.E("open workspace", dir, handoff.Unavailable, durable.Reason(err),
			handoff.Advice("make the directory readable").OrSet("HANDOFF_DIR to another one"))
	}
	if stranger != "" {
		return standing{}, foreign(dir, stranger)
	}
	return standing{}, nil
}

func foreign(dir, entry string) error {
	return handoff.E("open workspace", dir, handoff.Invalid,
		fmt.Errorf("is not a directory of handoff: it contains %q", entry),
		handoff.Hint{}.OrSet("HANDOFF_DIR to the absolute path of a directory for handoff; this one is left as it is"))
}

var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z.+-]{1,40}$`) })

func parseMarker(dir string, b []byte) (s standing, err error) {
	lines := strings.Split(string(b), "\n")
	number := 0
	if len(lines) > 1 {
		digits, _ := strings.CutPrefix(lines[1], "format ")
		number, _ = strconv.Atoi(digits)
	}
	if lines[0] != markerLine || number < 1 {
		return s, foreign(dir, MarkerName)
	}
	s.marked = true
	if number > format {
		s.newer = number
		for _, line := range lines[2:] {
			if version, ok := strings.CutPrefix(line, "needs "); ok && versionForm().MatchString(version) {
				s.needs = version
			}
		}
	}
	return s, nil
}

// writable refuses a directory with a format that this program does not know. Its kind
// is Unsupported.
func (s standing) writable(dir string) error {
	if s.newer == 0 {
		return nil
	}
	hint := "install a newer agent-handoff"
	if s.needs != "" {
		hint = "install agent-handoff " + s.needs + " or later"
	}
	return handoff.E("write workspace", dir, handoff.Unsupported,
		fmt.Errorf("the directory has format %d, and this program writes format %d", s.newer, format),
		handoff.Advice(hint))
}

// writeMarker writes the marker of this program.
func writeMarker(root *os.Root) error {
	return durable.Replace(root, MarkerName, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\nformat %d\n", markerLine, format)
		return err
	})
}

// inBareRepository reports whether a directory is the one that handoff uses in a bare
// repository of git.
func inBareRepository(dir string) bool {
	parent := filepath.Dir(dir)
	return filepath.Base(dir) == "handoff" && plainfile.CheckFile(filepath.Join(parent, "HEAD")) == nil &&
		plainfile.CheckDir(filepath.Join(parent, "objects")) == nil
}

// stateForm is the form of the names of state of logs on other machines.
var stateForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}(\.json)?$`) })

// indexNames are the files of an index, and stateNames the directories with the state of
// logs on other machines: what reading leaves.
var (
	indexNames = []string{FileName, FileName + "-wal", FileName + "-shm", FileName + "-journal", LockName}
	stateNames = []string{"git", "bucket", "queue"}
)

// isIndex reports whether a file is an index, by the header of SQLite 3: its first 16
// bytes, and the application ID at offset 68.
func isIndex(file string) bool {
	f, err := plainfile.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [72]byte
	_, err = io.ReadFull(f, b[:])
	return err == nil && bytes.HasPrefix(b[:], []byte("SQLite format 3\x00")) &&
		binary.BigEndian.Uint32(b[68:]) == sqlindex.ApplicationID
}

// hasState reports whether a directory has state of logs on other machines: entries with
// the names that handoff gives them, and nothing else.
func hasState(dir string) bool {
	found := false
	stranger, err := scan(dir, func(e fs.DirEntry) bool {
		named := stateForm().MatchString(e.Name())
		found = found || named
		return named
	})
	return err == nil && stranger == "" && found
}

// strangerIn returns an entry of a directory without a marker that is not handoff's, ""
// for none. Handoff's is what a person puts there, what reading leaves, and what a process
// leaves that is killed during the first write.
func strangerIn(dir string) (string, error) {
	indexed := isIndex(filepath.Join(dir, FileName))
	file := "" // of another program, in a directory with a name of handoff's
	stranger, err := scan(dir, func(e fs.DirEntry) bool {
		name := e.Name()
		switch {
		case name == "config.yaml":
			return true
		case name == IgnoreName:
			b, err := plainfile.Read(filepath.Join(dir, name), 64)
			return err == nil && string(b) == ignoreAll
		case indexed && (slices.Contains(indexNames, name) || strings.HasPrefix(name, FileName+".damaged")):
			return true
		case slices.Contains(stateNames, name) && hasState(filepath.Join(dir, name)):
			return true
		case !slices.Contains(runtimeDirs, name) && !slices.Contains(indexNames, name):
			return false
		}
		file = firstFile(dir, name)
		return file == ""
	})
	return cmp.Or(file, stranger), err
}

// scan returns the name of an entry that is not known, "" for none. It does not show
// temporary files, and what the system puts into any directory.
func scan(dir string, known func(fs.DirEntry) bool) (string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer f.Close()
	for {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			name := e.Name()
			if !durable.IsTemporary(name) && name != ".DS_Store" && !strings.HasPrefix(name, ".nfs") && !known(e) {
				return name, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
	}
}

// firstFile returns the path in dir of a file below name that is not a temporary file of
// a log, "" if nothing but directories is there.
func firstFile(dir, name string) (found string) {
	_ = filepath.WalkDir(filepath.Join(dir, name), func(file string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, file)
		rel = filepath.ToSlash(rel)
		if err == nil && (d.IsDir() || strings.HasPrefix(rel, "log/tmp/record-")) {
			return nil
		}
		found = rel // also what can't be read
		return fs.SkipAll
	})
	return found
}
