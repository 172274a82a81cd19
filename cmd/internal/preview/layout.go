package preview

import (
	"crypto/sha256"
	"fmt"
	"html/template"
	"strconv"
	"strings"
)

// A Layout is how the lines of a text or diff are drawn, and what a page adds to them.
type Layout struct {
	Split bool      // the two texts of a diff are side by side
	Texts [2]string // see TextsOf

	Address  func(n int) string        // of the form for a comment on a line; nil for none
	Below    func(n int) template.HTML // items of a list for below a line; nil for none
	From, To int                       // the lines that are marked
}

// coloredSize is the size in bytes of the largest text whose lines get colors. preview.js has
// the same limit.
const coloredSize = 200_000

// TextsOf returns the addresses of two texts from which a script takes the colors of the lines of
// their diff, "" if they are large. In a part of a text, what it begins in is not known, such as a
// comment.
func TextsOf(from, to Version) [2]string {
	if max(len(from.Text), len(to.Text)) > coloredSize {
		return [2]string{}
	}
	return [2]string{from.URL, to.URL}
}

// HTML returns the lines of files. If several have a name, there is a list of these, and a fold
// for each.
func (o Layout) HTML(files []File) template.HTML {
	var b strings.Builder
	list := named(files)
	folds := len(list) > 1
	if folds {
		write(&b, `<div class="diffs">`)
		writeList(&b, list)
		write(&b, "<div>")
	}
	for i := range files {
		f := &files[i]
		fold := folds && f.Name != ""
		if fold {
			write(&b, `<div class="diff-file" data-file="`, f.Digest, `"><details id="file-`, f.Digest,
				`" open><summary><code>`, escape(f.Name), "</code> ", f.counts(), "</summary>\n")
		}
		o.writeLines(&b, f)
		if fold {
			write(&b, "</details></div>\n")
		}
	}
	if folds {
		write(&b, "</div></div>\n")
	}
	return template.HTML(b.String())
}

func write(b *strings.Builder, parts ...string) {
	for _, part := range parts {
		b.WriteString(part)
	}
}

// named returns the files that have a name.
func named(files []File) (list []*File) {
	for i := range files {
		if files[i].Name != "" {
			list = append(list, &files[i])
		}
	}
	return list
}

// counts returns how many lines of a file are added and removed.
func (f *File) counts() string {
	return fmt.Sprintf(`<span class="added">+%d</span> <span class="removed">−%d</span>`, f.Added, f.Removed)
}

// writeList writes a list of files with a link to each.
func writeList(b *strings.Builder, files []*File) {
	all, sum := File{}, sha256.New()
	for _, f := range files {
		all.Added, all.Removed = all.Added+f.Added, all.Removed+f.Removed
		fmt.Fprintln(sum, f.Digest)
	}
	fmt.Fprintf(b, `<details class="file-list" id="files-%x"><summary>%d files %s</summary><ol>`, sum.Sum(nil)[:8],
		len(files), all.counts())
	for _, f := range files {
		write(b, `<li><a href="#file-`, f.Digest, `">`, escape(f.Name), "</a> ", f.counts(), "</li>\n")
	}
	write(b, "</ol></details>\n")
}

// writeLines writes the lines of a file as a list. Side by side, those that are in one place are one
// item.
func (o *Layout) writeLines(b *strings.Builder, f *File) {
	class, isDiff := "lines", len(f.Lines) > 0 && f.Lines[0].Class != ""
	if isDiff {
		class += " diff"
	}
	if isDiff && o.Split {
		class += " split"
	}
	write(b, `<ol class="`, class, `" aria-label="Lines"`)
	if f.Language != "" {
		writeValue(b, "language", f.Language)
		writeValue(b, "before", o.Texts[0])
		writeValue(b, "after", o.Texts[1])
	}
	write(b, ">\n")
	for list := f.Lines; len(list) > 0; {
		n := 1
		if isDiff && o.Split {
			n = o.writePairs(b, list)
		} else {
			o.writeLine(b, "li", "", &list[0])
			o.writeBelow(b, &list[0])
		}
		list = list[n:]
	}
	write(b, "</ol>\n")
}

// writePairs writes the lines that a list begins with side by side, and returns how many these are: removed
// ones and the added ones in their place, or one line.
func (o *Layout) writePairs(b *strings.Builder, list []Line) int {
	removed, added := replaced(list)
	first := &list[0]
	if removed+added == 0 && first.Class != "ctx" {
		o.writeLine(b, "li", "", first)
		o.writeBelow(b, first)
		return 1
	}
	for i := range max(1, removed, added) {
		none := Line{Class: "none"}
		left, right, more := &none, &none, ""
		if removed+added == 0 { // the same line is in both texts: it is read once, and comments are on the second one
			now := *first
			now.Old = ""
			left, right, more = &Line{Class: "ctx", Old: first.Old, Text: first.Text}, &now, ` aria-hidden="true"`
		}
		if i < removed {
			left = &list[i]
		}
		if i < added {
			right = &list[removed+i]
		}
		write(b, `<li class="pair">`)
		o.writeLine(b, "div", more, left)
		o.writeLine(b, "div", "", right)
		write(b, "</li>\n")
		o.writeBelow(b, left)
		o.writeBelow(b, right)
	}
	return max(1, removed+added)
}

// writeLine writes a line with its numbers in both texts, as an element with more attributes.
func (o *Layout) writeLine(b *strings.Builder, tag, more string, l *Line) {
	n := strconv.Itoa(l.N)
	write(b, "<", tag, ` class="src`)
	if l.Class != "" {
		write(b, " ", l.Class)
	}
	if l.N > 0 && o.From <= l.N && l.N <= o.To {
		write(b, " at")
	}
	write(b, `"`, more)
	if l.N > 0 {
		write(b, ` id="L`, n, `"`)
	}
	writeValue(b, "old", l.Old)
	writeValue(b, "new", l.New)
	if l.N > 0 && o.Address != nil {
		write(b, ` data-row><a class="plus" href="`, escape(o.Address(l.N)),
			`" aria-label="Comment on line `, n, `">+</a`)
	}
	write(b, "><code>", string(l.HTML()), "</code></", tag, ">\n")
}

// writeValue writes a value for scripts and style sheets, unless it is "".
func writeValue(b *strings.Builder, name, value string) {
	if value != "" {
		write(b, " data-", name, `="`, escape(value), `"`)
	}
}

func (o *Layout) writeBelow(b *strings.Builder, l *Line) {
	if l.N > 0 && o.Below != nil {
		write(b, string(o.Below(l.N)))
	}
}
