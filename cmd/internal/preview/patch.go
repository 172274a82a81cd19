package preview

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-handoff/handoff/internal/tool/printable"
)

// A File is the part of a diff that is about one file. What precedes the first file of a
// patch, such as the message of a commit, has no name.
type File struct {
	Name           string
	Language       string // as highlight.js names it, "" for none
	Added, Removed int    // lines
	Digest         string // of the name and the lines
	Lines          []Line
}

// FilesOf divides the lines of a diff by the files that they are about. name is that of a
// text, or of a diff without names.
func FilesOf(lines []Line, name string) (list []File) {
	inHead := false // of a file
	for i, l := range lines {
		isHead := l.Class == "head" // of a diff
		next := lines[min(i+1, len(lines)-1)]
		starts := isHead && (strings.HasPrefix(l.Text, "diff --git ") || strings.HasPrefix(l.Text, "Index: ") ||
			!inHead && strings.HasPrefix(l.Text, "--- ") && strings.HasPrefix(next.Text, "+++ "))
		if starts || i == 0 {
			list = append(list, File{})
		}
		inHead = starts || inHead && isHead
		f := &list[len(list)-1]
		f.Lines = append(f.Lines, l)
		switch l.Class {
		case "add":
			f.Added++
		case "del":
			f.Removed++
		}
	}
	for i := range list {
		f := &list[i]
		if f.Name = name; name == "" {
			f.Name = printable.Line(f.path())
		}
		f.Language = language(Source{Name: f.Name}, nil)
		sum := sha256.New()
		fmt.Fprintln(sum, f.Name)
		for _, l := range f.Lines {
			fmt.Fprintln(sum, l.Text)
		}
		f.Digest = hex.EncodeToString(sum.Sum(nil)[:8])
	}
	return list
}

// path returns the name that the head of a file has, that of the new version if it has two.
func (f File) path() (name string) {
	for _, l := range f.Lines {
		if l.Class == "hunk" {
			break
		}
		key, rest, _ := strings.Cut(l.Text, " ")
		rest, _, _ = strings.Cut(rest, "\t")
		if quoted, err := strconv.Unquote(rest); err == nil {
			rest = quoted
		}
		switch {
		case key == "Index:":
			name = rest
		case key == "diff":
			if _, to, ok := strings.Cut(rest, " b/"); ok {
				name = to
			}
		case key == "---" && rest != "/dev/null":
			name = strings.TrimPrefix(rest, "a/")
		case key == "+++" && rest != "/dev/null":
			return strings.TrimPrefix(rest, "b/")
		}
	}
	return name
}

// LanguageOf returns the first language of files, "" if none has one.
func LanguageOf(files []File) (name string) {
	for _, f := range files {
		name = cmp.Or(name, f.Language)
	}
	return name
}

// diff shows a diff.
func (p *Preview) diff(lines []Line, name string, o Layout) {
	files := FilesOf(lines, name)
	for _, f := range files {
		p.Added, p.Removed = p.Added+f.Added, p.Removed+f.Removed
	}
	p.Files, p.Language, p.Split, p.HTML = len(named(files)), LanguageOf(files), o.Split, o.HTML(files)
}
