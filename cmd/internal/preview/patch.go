package preview

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

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
	for i, l := range lines {
		if i == 0 || l.file != lines[i-1].file {
			list = append(list, File{})
		}
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
		if f.Name = name; name == "" && f.Lines[0].file != nil {
			f.Name = printable.Line(f.Lines[0].file.Name())
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
