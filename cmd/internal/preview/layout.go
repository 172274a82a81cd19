package preview

import (
	"crypto/sha256"
	"fmt"
	"html/template"
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
	folds := len(named(files)) > 1
	if folds {
		b.WriteString(`<div class="diffs">`)
		writeList(&b, named(files))
		b.WriteString("<div>")
	}
	for _, f := range files {
		fold := folds && f.Name != ""
		if fold {
			fmt.Fprintf(&b, `<div class="diff-file" data-file="%s"><details id="file-%s" open>`, f.Digest, f.Digest)
			fmt.Fprintf(&b, "<summary><code>%s</code> %s</summary>\n", escape(f.Name), f.counts())
		}
		o.writeLines(&b, f)
		if fold {
			b.WriteString("</details></div>\n")
		}
	}
	if folds {
		b.WriteString("</div></div>\n")
	}
	return template.HTML(b.String())
}

// named returns the files that have a name.
func named(files []File) (list []File) {
	for _, f := range files {
		if f.Name != "" {
			list = append(list, f)
		}
	}
	return list
}

// counts returns how many lines of a file are added and removed.
func (f File) counts() string {
	return fmt.Sprintf(`<span class="added">+%d</span> <span class="removed">−%d</span>`, f.Added, f.Removed)
}

// writeList writes a list of files with a link to each.
func writeList(b *strings.Builder, files []File) {
	all, sum := File{}, sha256.New()
	for _, f := range files {
		all.Added, all.Removed = all.Added+f.Added, all.Removed+f.Removed
		fmt.Fprintln(sum, f.Digest)
	}
	fmt.Fprintf(b, `<details class="file-list" id="files-%x"><summary>%d files %s</summary><ol>`, sum.Sum(nil)[:8],
		len(files), all.counts())
	for _, f := range files {
		fmt.Fprintf(b, `<li><a href="#file-%s">%s</a> %s</li>`+"\n", f.Digest, escape(f.Name), f.counts())
	}
	b.WriteString("</ol></details>\n")
}

// writeLines writes the lines of a file as a list. Side by side, those that are in one place are one
// item.
func (o Layout) writeLines(b *strings.Builder, f File) {
	class, isDiff := "lines", len(f.Lines) > 0 && f.Lines[0].Class != ""
	if isDiff {
		class += " diff"
	}
	if isDiff && o.Split {
		class += " split"
	}
	fmt.Fprintf(b, `<ol class="%s" aria-label="Lines"`, class)
	if f.Language != "" {
		fmt.Fprintf(b, ` data-language="%s"`, f.Language)
		for i, name := range []string{"before", "after"} {
			if o.Texts[i] != "" {
				fmt.Fprintf(b, ` data-%s="%s"`, name, escape(o.Texts[i]))
			}
		}
	}
	b.WriteString(">\n")
	for list := f.Lines; len(list) > 0; {
		n := 1
		if isDiff && o.Split {
			n = o.writePairs(b, list)
		} else {
			o.writeLine(b, "li", "", list[0])
			o.writeBelow(b, list[0])
		}
		list = list[n:]
	}
	b.WriteString("</ol>\n")
}

// writePairs writes the lines that a list begins with side by side, and returns how many these are: removed
// ones and the added ones in their place, or one line.
func (o Layout) writePairs(b *strings.Builder, list []Line) int {
	removed, added := replaced(list)
	left, right := list[:removed], list[removed:removed+added]
	if first := list[0]; removed+added == 0 && first.Class == "ctx" {
		before := first // the same line is in both texts, and comments are on the second one
		before.New, before.N, first.Old = "", 0, ""
		left, right = []Line{before}, []Line{first}
	} else if removed+added == 0 {
		o.writeLine(b, "li", "", first)
		o.writeBelow(b, first)
		return 1
	}
	for i := range max(len(left), len(right)) {
		pair := [2]Line{{Class: "none"}, {Class: "none"}}
		if i < len(left) {
			pair[0] = left[i]
		}
		if i < len(right) {
			pair[1] = right[i]
		}
		b.WriteString(`<li class="pair">`)
		for i, l := range pair {
			more := ""
			if i == 0 && l.Class == "ctx" {
				more = ` aria-hidden="true"` // it is read once
			}
			o.writeLine(b, "div", more, l)
		}
		b.WriteString("</li>\n")
		for _, l := range pair {
			o.writeBelow(b, l)
		}
	}
	return max(1, removed+added)
}

// writeLine writes a line with its numbers in both texts, as an element with more attributes.
func (o Layout) writeLine(b *strings.Builder, tag, more string, l Line) {
	b.WriteString("<" + tag + ` class="src`)
	if l.Class != "" {
		b.WriteString(" " + l.Class)
	}
	if l.N > 0 && o.From <= l.N && l.N <= o.To {
		b.WriteString(" at")
	}
	b.WriteString(`"` + more)
	if l.N > 0 {
		fmt.Fprintf(b, ` id="L%d"`, l.N)
	}
	if l.Old != "" {
		b.WriteString(` data-old="` + l.Old + `"`)
	}
	if l.New != "" {
		b.WriteString(` data-new="` + l.New + `"`)
	}
	if l.N > 0 && o.Address != nil {
		fmt.Fprintf(b, ` data-row><a class="plus" href="%s" aria-label="Comment on line %d">+</a`,
			escape(o.Address(l.N)), l.N)
	}
	b.WriteString("><code>" + string(l.HTML()) + "</code></" + tag + ">\n")
}

func (o Layout) writeBelow(b *strings.Builder, l Line) {
	if l.N > 0 && o.Below != nil {
		b.WriteString(string(o.Below(l.N)))
	}
}
