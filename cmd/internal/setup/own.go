package setup

import (
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/plainfile"
)

// skillPath is where a program expects the skill in its directory.
const skillPath = "skills/agent-handoff/SKILL.md"

//go:embed files/SKILL.md
var skill string

//go:embed files/opencode.js
var opencodePlugin string

//go:embed files/pi.ts
var piExtension string

// versions has the digest of every version of the files above, one per line:
// digest, name. TestVersions writes it from the history of the repository.
//
//go:embed files/versions
var versions string

// marker is in every file that init writes as a whole. It explains to a reader where
// the file is from. It proves nothing: only a known digest does.
const marker = "agent-handoff init"

// formerMarks are in the files that handoff wrote before they had the marker.
var formerMarks = []string{"Installed by handoff init.", "handoff records which file counts, who made it"}

// script returns an extension that calls a program.
func script(template, program string) string {
	quoted, _ := json.Marshal(program) // a string can always be encoded
	return strings.Replace(template, `"@HANDOFF@"`, string(quoted), 1)
}

// programLine is the line of an extension that differs between machines.
var programLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^const program = "(?:(?:[^"\\\n]|\\.)*/)?(?:agent-)?handoff"$`)
})

// versionDigest returns the digest under which a file is listed in versions.
func versionDigest(content []byte) string {
	return digest(programLine().ReplaceAllLiteral(content, []byte(`const program = "@HANDOFF@"`)))
}

// isOurs reports whether a file is a version of a file of handoff that nobody has
// changed. Any other belongs to the user or another program, whatever its name.
func isOurs(content []byte) bool {
	return strings.Contains(versions, versionDigest(content)+" ")
}

// isOwnFile reports whether handoff writes a file as a whole.
func isOwnFile(changes []Change) bool {
	return slices.ContainsFunc(changes, func(c Change) bool { return c.File != "" })
}

// foreign returns why a file is not replaced by one of handoff, "" if it may be.
func foreign(content []byte) string {
	switch {
	case isOurs(content):
		return ""
	case strings.Contains(string(content), marker):
		return "was changed since handoff wrote it, or is of another version; move it away to get this version's"
	}
	return "is not a file of handoff; move it away to get handoff's"
}

// planRemoval returns the edit that removes what an earlier version of handoff
// wrote under its former name in place of a file. It reports false if there is
// nothing to remove and nothing to say.
func planRemoval(t Target, name, file string) (Edit, bool) {
	e := Edit{Client: name, File: former(file), Removed: true}
	if _, err := target(t, e.File); err != nil || e.File == "" || isLink(e.File) || isLink(filepath.Dir(e.File)) {
		return e, false
	}
	var err error
	if e.Before, err = plainfile.Read(e.File, maxFile); err != nil {
		return e, false
	}
	if isOurs(e.Before) {
		return e, true
	}
	ofOurs := func(mark string) bool { return strings.Contains(string(e.Before), mark) }
	e.After, e.Skipped = e.Before, "was changed since an earlier version of handoff wrote it; "+file+" replaces it"
	return e, slices.ContainsFunc(formerMarks, ofOurs)
}

// former returns the path that a file had when the program was called handoff, ""
// for a file that has its name from elsewhere.
func former(file string) string {
	for _, at := range []string{file, filepath.Dir(file)} {
		if rest, ok := strings.CutPrefix(filepath.Base(at), "agent-handoff"); ok {
			return filepath.Join(filepath.Dir(at), "handoff"+rest, strings.TrimPrefix(file, at))
		}
	}
	return ""
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// remove removes a file that an earlier version wrote. If that had replaced a file
// of the user, which the journal has, the user's is restored.
func (j *Journal) remove(e Edit) error {
	i := slices.IndexFunc(j.Edits, func(old Edit) bool { return old.File == e.File && old.Digest == digest(e.Before) })
	if i < 0 {
		e.Digest = digest(nil)
		if err := j.add(e); err != nil {
			return err
		}
		return removeUnchanged(e)
	}
	if old := j.Edits[i]; !old.Created {
		e.Removed, e.After = false, old.Before
		if err := replace(e); err != nil {
			return err
		}
	} else if err := removeUnchanged(e); err != nil {
		return err
	}
	j.Edits = slices.Delete(j.Edits, i, i+1)
	return j.save()
}

// removeUnchanged removes a file, unless it was changed since it was read, and its
// folder if that is empty and had its name from the program.
func removeUnchanged(e Edit) error {
	now, err := plainfile.Read(e.File, maxFile)
	if err == nil && string(now) != string(e.Before) {
		err = errChanged
	}
	if err == nil {
		err = os.Remove(e.File)
	}
	if dir := filepath.Dir(e.File); err == nil && filepath.Base(dir) == "handoff" {
		_ = os.Remove(dir) // fails if it has other files
	}
	return failed(e.File, err)
}

// undoRemoval finds out how to write a file again that was removed. err is from
// reading it.
func undoRemoval(e Edit, u *Undone, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		u.Reason = "the file was written again since"
		return
	}
	u.Restored, u.After = true, e.Before
}
