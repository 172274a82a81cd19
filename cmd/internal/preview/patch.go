package preview

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
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

// diff shows a diff: with a fold for each file if it is about several.
func (p *Preview) diff(lines []Line, name string) {
	files, named := FilesOf(lines, name), 0
	for _, f := range files {
		if f.Name != "" {
			named++
		}
		p.Added, p.Removed = p.Added+f.Added, p.Removed+f.Removed
		if p.Language == "" {
			p.Language = f.Language
		}
	}
	p.Files = named
	var b strings.Builder
	if named > 1 {
		fmt.Fprintf(&b, `<p class="diff-files">%d files <span class="added">+%d</span> `+
			`<span class="removed">−%d</span></p>`+"\n", named, p.Added, p.Removed)
	}
	for _, f := range files {
		if named < 2 || f.Name == "" {
			b.WriteString(string(diffHTML(f.Lines, f.Language)))
			continue
		}
		fmt.Fprintf(&b, `<div class="diff-file" data-file="%s"><details id="file-%s" open><summary><code>%s</code> `+
			`<span class="added">+%d</span> <span class="removed">−%d</span></summary>`+"\n%s</details></div>\n",
			f.Digest, f.Digest, escape(f.Name), f.Added, f.Removed, diffHTML(f.Lines, f.Language))
	}
	p.HTML = template.HTML(b.String())
}

// diffHTML returns the lines of a diff, each with a class and its numbers in both texts.
func diffHTML(lines []Line, language string) template.HTML {
	var b strings.Builder
	b.WriteString(`<pre class="diff" tabindex="0"`)
	if language != "" {
		b.WriteString(` data-language="` + language + `"`)
	}
	b.WriteString(">")
	for _, l := range lines {
		fmt.Fprintf(&b, `<span class="%s" data-old="%s" data-new="%s">%s`+"\n</span>", l.Class, l.Old, l.New, l.HTML())
	}
	return template.HTML(b.String() + "</pre>\n")
}
