package reviews

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// maxText is the size in bytes up to which the text of an artifact is read to place
// comments in it.
const maxText = 8 << 20

// place returns where the comment of a draft is, and adds the quote to its text.
func (d Reviews) place(ctx context.Context, a handoff.Artifact, r Draft, text *handoff.CommentText) (handoff.Place,
	error) {
	var p handoff.Place
	if r.Side != "" {
		content, err := d.content(ctx, a, "")
		if err == nil {
			p, err = d.placeOnSide(content, r)
		}
		if err == nil {
			setQuote(text, content, p)
		}
		return p, err
	}
	if r.Path != "" {
		if !a.IsDirectory() {
			return p, handoff.E("review", r.Path, handoff.Invalid, errors.New(a.ID+" is not a directory"),
				handoff.Advice("leave out the path"))
		}
		p.Path = path.Clean(r.Path)
	}
	if p.Path == "" && r.Lines == "" && r.Quote == "" {
		return p, nil
	}
	if r.Lines == "" && r.Quote == "" {
		return p, d.has(ctx, a, p.Path)
	}
	content, err := d.content(ctx, a, p.Path)
	if err != nil {
		return p, err
	}
	where, err := span(content, p.Path, r)
	if err != nil {
		return p, err
	}
	setQuote(text, content, where)
	return where, nil
}

// setQuote adds what is at a place of a text, and what is around it.
func setQuote(text *handoff.CommentText, content string, at handoff.Place) {
	start := len(first(content, at.Start))
	end := start + len(first(content[start:], at.End-at.Start))
	text.Quote = first(content[start:end], handoff.MaxQuote)
	text.Before = last(content[:start], handoff.MaxQuoteContext)
	text.After = first(content[start+len(text.Quote):], handoff.MaxQuoteContext)
}

// span returns which part of a text the lines, the quote, or the quote in the lines of a draft are.
func span(content, file string, r Draft) (where handoff.Place, err error) {
	start, end := 0, len(content)
	if r.Lines != "" {
		firstLine, lastLine, err := parseLines(r.Lines)
		if err != nil {
			return where, err
		}
		var lines int
		start, end, lines = lineSpan(content, firstLine, lastLine)
		if lastLine > lines {
			return where, handoff.E("review", r.Lines, handoff.NotFound, fmt.Errorf("the text has %d lines", lines),
				handoff.Advice("the lines are those of the published text"))
		}
		where = newPlace(content, file, start, end)
		where.LastLine = lastLine // which may be empty
	}
	if r.Quote == "" {
		return where, nil
	}
	switch strings.Count(content[start:end], r.Quote) {
	case 0:
		return where, handoff.E("review", "", handoff.NotFound, errors.New("the text does not have the quote"),
			handoff.Advice("copy it from the published text"))
	case 1:
		start += strings.Index(content[start:end], r.Quote)
		return newPlace(content, file, start, start+len(r.Quote)), nil
	}
	return where, handoff.E("review", "", handoff.Conflict, errors.New("the text has the quote several times"),
		handoff.Advice("quote more of it, or name its lines, too"))
}

// parseLines parses the number of a line, or two with a dash.
func parseLines(text string) (firstLine, lastLine int, err error) {
	from, to, _ := strings.Cut(text, "-")
	firstLine, err = strconv.Atoi(from)
	lastLine = firstLine
	if err == nil && to != "" {
		lastLine, err = strconv.Atoi(to)
	}
	if err != nil || firstLine < 1 || lastLine < firstLine {
		err = handoff.E("review", fmt.Sprintf("%q", text), handoff.Invalid, errors.New("invalid lines"),
			handoff.Advice("write 12 or 12-14"))
	}
	return firstLine, lastLine, err
}

// lineSpan returns the bytes of lines of a text, without the last line end, and the number
// of lines that it has.
func lineSpan(content string, firstLine, lastLine int) (start, end, lines int) {
	at := 0
	for line := range strings.Lines(content) {
		lines++
		if lines == firstLine {
			start = at
		}
		at += len(line)
		if lines == lastLine {
			end = at - (len(line) - len(strings.TrimSuffix(line, "\n")))
		}
	}
	return start, max(start, end), lines
}

// newPlace returns the place of bytes of a text.
func newPlace(content, file string, start, end int) handoff.Place {
	firstLine := 1 + strings.Count(content[:start], "\n")
	return handoff.Place{Path: file, FirstLine: firstLine,
		LastLine: firstLine + strings.Count(strings.TrimSuffix(content[start:end], "\n"), "\n"),
		Start:    utf8.RuneCountInString(content[:start]), End: utf8.RuneCountInString(content[:end])}
}

// first returns the first n characters of a text, and last the last ones.
func first(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func last(text string, n int) string {
	for i := len(text); i > 0; n-- {
		if n == 0 {
			return text[i:]
		}
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
	}
	return text
}

// moved returns where a comment on an earlier revision is in an artifact, and whether it
// is outdated: then the place is the one in the earlier revision. texts are those that
// were read, by path.
func (d Reviews) moved(ctx context.Context, a handoff.Artifact, c handoff.Comment, text handoff.CommentText,
	texts map[string]string) (handoff.Place, bool) {
	if c.Place == (handoff.Place{}) {
		return c.Place, false
	}
	file, onSide := c.Place.Path, c.Place.Path != "" && c.Place.Side != "" && !a.IsDirectory()
	if onSide { // the file is one that the patch changes
		file = ""
	}
	content, ok := texts[file]
	if !ok {
		var err error
		if content, err = d.content(ctx, a, file); err != nil {
			return c.Place, true
		}
		texts[file] = content
	}
	if text.Quote == "" { // a file, or an empty line, which nothing finds again
		return c.Place, c.Place.FirstLine > 0
	}
	at, ok := Find(content, text)
	if !ok {
		return c.Place, true
	}
	if onSide {
		where, ok := sidePlace(content, c.Place.Path, c.Place.Side, at, at+len(text.Quote))
		if !ok {
			return c.Place, true
		}
		where.LastLine = where.FirstLine + c.Place.LastLine - c.Place.FirstLine
		return where, false
	}
	where := newPlace(content, c.Place.Path, at, at+len(text.Quote))
	where.Side, where.LastLine = c.Place.Side, where.FirstLine+c.Place.LastLine-c.Place.FirstLine
	return where, false
}

// Find returns the byte of a text at which the quote of a comment is: where it occurs
// once, or once with the context that it had.
func Find(content string, text handoff.CommentText) (at int, ok bool) {
	if text.Quote == "" {
		return 0, false
	}
	at = strings.Index(content, text.Quote)
	if at < 0 {
		return 0, false
	}
	if !strings.Contains(content[at+1:], text.Quote) { // also not overlapping itself
		return at, true
	}
	whole := text.Before + text.Quote + text.After
	at = strings.Index(content, whole)
	if at < 0 || strings.Contains(content[at+1:], whole) {
		return 0, false
	}
	return at + len(text.Before), true
}

// content returns the text of an artifact or, of a directory, of a file in it.
func (d Reviews) content(ctx context.Context, a handoff.Artifact, file string) (string, error) {
	c, err := d.c.Hub.Open(ctx, a.ID)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var r io.Reader = c
	switch {
	case !a.IsDirectory() && file != "" || a.IsDirectory() && file == "":
		return "", handoff.E("review", a.ID, handoff.Invalid, errors.New("lines and quotes are those of a file"),
			handoff.Advice("name a file of the directory"))
	case a.IsDirectory():
		if r, err = member(c, file); err != nil {
			return "", err
		}
	}
	b, err := io.ReadAll(io.LimitReader(r, maxText+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxText:
		return "", handoff.E("review", a.ID, handoff.Unsupported, fmt.Errorf("has more than %d MiB", maxText>>20),
			handoff.Advice("comment on the artifact, without a place"))
	case !utf8.Valid(b):
		return "", handoff.E("review", a.ID, handoff.Unsupported, errors.New("is not text in UTF-8"),
			handoff.Advice("comment on the artifact, without a place"))
	}
	return string(b), nil
}

// has returns an error of kind NotFound unless a directory has a file.
func (d Reviews) has(ctx context.Context, a handoff.Artifact, file string) error {
	c, err := d.c.Hub.Open(ctx, a.ID)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = member(c, file)
	return err
}

// member returns a file of a directory that is read as a tar.
func member(r io.Reader, file string) (io.Reader, error) {
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		switch {
		case err == io.EOF:
			return nil, handoff.E("review", file, handoff.NotFound, errors.New("the directory has no such file"),
				handoff.Advice("name it relative to the directory"))
		case err != nil:
			return nil, err
		case h.Typeflag == tar.TypeReg && path.Clean(h.Name) == file:
			return t, nil
		}
	}
}

// read returns the content of the body of a comment. One on another machine is fetched.
func (d Reviews) read(ctx context.Context, body handoff.Digest) ([]byte, error) {
	if f, ok := d.c.Bodies.(handoff.BodyFetcher); ok {
		if err := f.Fetch(ctx, body, maxBody); err != nil {
			return nil, err
		}
	}
	r, err := d.c.Bodies.Open(ctx, body)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxBody))
}
