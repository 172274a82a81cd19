package action

import "strings"

// A FilePatch is what a patch in the format of apply_patch does to a file.
type FilePatch struct {
	Path  string
	To    string   // where it is moved, "" if it is not
	Add   bool     // the lines are all of the file, each after a plus sign
	Lines []string // of the changes
}

const (
	patchStart = "*** Begin Patch"
	patchEnd   = "*** End Patch"
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
)

// Patches returns what the patches in a text do to files, in their order. The lines of a
// change are never headers.
func Patches(text string) (list []FilePatch) {
	for {
		_, rest, ok := strings.Cut(text, patchStart)
		if !ok {
			return list
		}
		r := patchReader{list: list}
		for text = rest; text != "" && !r.ended; {
			var line string
			line, text, _ = strings.Cut(text, "\n")
			r.line(strings.TrimSuffix(line, "\r"))
		}
		list = r.list
	}
}

// A patchReader reads the lines of a patch.
type patchReader struct {
	list    []FilePatch
	open    bool // lines may belong to the last file
	changes bool // there were some
	ended   bool
}

func (r *patchReader) line(line string) {
	change := line != "" && (strings.IndexByte("+-", line[0]) >= 0 || (line[0] == ' ' && r.changes))
	if !(r.open && change) && r.header(strings.TrimSpace(line)) {
		return
	}
	if r.open {
		r.changes = true
		f := &r.list[len(r.list)-1]
		f.Lines = append(f.Lines, line)
	}
}

// header reads a line that is not one of a change, if it is one of the format.
func (r *patchReader) header(line string) bool {
	if !strings.HasPrefix(line, "*** ") {
		return false
	}
	if line == patchEnd {
		r.ended = true
		return true
	}
	if path, ok := strings.CutPrefix(line, moveTo); ok && r.open {
		r.list[len(r.list)-1].To = path
		return true
	}
	r.open = r.open && line == "*** End of File"
	for _, kind := range []string{addFile, updateFile, deleteFile} {
		if path, ok := strings.CutPrefix(line, kind); ok {
			r.list = append(r.list, FilePatch{Path: path, Add: kind == addFile})
			r.open, r.changes = kind != deleteFile, false
		}
	}
	return true
}
