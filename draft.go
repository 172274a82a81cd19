package handoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Draft is what a caller wants to publish. Only Channel and one of Path and
// Body must be set.
type Draft struct {
	Channel  string
	Path     string    // of an existing file or directory, slash-separated, below the workspace
	Body     io.Reader // of an artifact that has no file yet: handoff stores it
	Filename string    // of a stored body; chosen by MediaType where it is ""

	// Name makes the body, which is kept, the newest revision of a name in a
	// namespace. Path and Root then say where its file is rendered.
	Namespace, Name string
	Root            string
	RootDir         string // of an existing file with Root SessionRoot: that directory, absolute

	Kind      string
	Title     string // one line of at most MaxTitle characters
	Summary   string // one line of at most MaxSummary characters
	MediaType string
	Replaces  []string // ids of the artifacts whose place it takes
	Parents   []string // ids of the artifacts it was made from
	Tags      []string
	Key       string // a repeated publish under one key is the same publish
	Keep      Keep   // whether a copy is kept; "" for what the workspace says
	Metadata  map[string]any
}

// The bounds of what a record says about a body, in characters.
const (
	MaxTitle   = 120
	MaxSummary = 500
	maxWord    = 200 // a channel, kind, tag or key
)

// Channels are the channels that need no explaining.
var Channels = []struct{ Name, Purpose string }{
	{"analysis", "research notes, discovery, trade-offs"},
	{"design", "design documents, sketches of an interface, diagrams"},
	{"patch", "diffs, changed files, generated code"},
	{"verification", "test logs, check results, review findings"},
	{"handoff", "final summaries, for a parent or a later task"},
}

var channelForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// CheckChannel reports, as kind Invalid, why name can't be a channel's: it is
// not lower-case words of letters and digits, joined by single dashes.
func CheckChannel(name string) error {
	if channelForm().MatchString(name) && len(name) <= maxWord {
		return nil
	}
	known := make([]string, len(Channels))
	for i, c := range Channels {
		known[i] = c.Name
	}
	return &Error{Op: "channel", Name: fmt.Sprintf("%q", name), Kind: Invalid,
		Err:  errors.New("is not lower-case words joined by dashes"),
		Hint: Advice("use one of " + strings.Join(known, ", ") + ", or a word of your own such as security-review")}
}

// fact checks the draft and returns what it says, but for the body.
func (d Draft) fact() (*ArtifactPublished, error) {
	if err := CheckChannel(d.Channel); err != nil {
		return nil, err
	}
	p := &ArtifactPublished{
		Channel: d.Channel, Kind: d.Kind, Path: d.Path, Root: d.Root, Namespace: d.Namespace, Name: d.Name, MediaType: d.MediaType, Key: d.Key,
		Title: oneLine(d.Title), Summary: oneLine(d.Summary),
		Replaces: distinct(d.Replaces), Parents: distinct(d.Parents), Tags: distinct(d.Tags),
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{
		{"title", p.Title, MaxTitle}, {"summary", p.Summary, MaxSummary},
		{"kind", p.Kind, maxWord}, {"media type", p.MediaType, maxWord}, {"key", p.Key, maxWord},
	} {
		if err := checkText(f.name, f.value, f.most); err != nil {
			return nil, err
		}
	}
	if err := d.Keep.Check(); err != nil {
		return nil, err
	}
	for _, tag := range p.Tags {
		if tag == "" {
			return nil, d.refuse(errors.New("a tag is empty"), "leave it out, or name one")
		}
		if err := checkText("tag", tag, maxWord); err != nil {
			return nil, err
		}
	}
	if len(d.Metadata) > 0 {
		b, err := json.Marshal(d.Metadata)
		if err != nil {
			return nil, d.refuse(fmt.Errorf("metadata: %w", err), "")
		}
		p.Metadata = b
	}
	return p, nil
}

func (d Draft) refuse(reason error, hint string) error {
	name := d.Path
	if d.Body != nil {
		name = "-"
	}
	return &Error{Op: "publish", Name: name, Kind: Invalid, Err: reason, Hint: Advice(hint)}
}

func checkText(name, value string, most int) error {
	refuse := func(reason error, hint string) error {
		return &Error{Op: name, Kind: Invalid, Err: reason, Hint: Advice(hint)}
	}
	if !utf8.ValidString(value) {
		return refuse(errors.New("is not UTF-8"), "write it as UTF-8")
	}
	if n := utf8.RuneCountInString(value); n > most {
		return refuse(fmt.Errorf("has %d characters, more than %d", n, most), "say it shorter; the body is where details belong")
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return refuse(errors.New("has a control character"), "write it as one line of plain text")
	}
	return nil
}

// oneLine puts a text on one line: runs of white space become one space, other
// control characters go. What is not UTF-8 is left for checkText to refuse.
func oneLine(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	s = strings.Join(strings.Fields(s), " ")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
}

func distinct(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

var secretForms = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`-----BEGIN [A-Z ]*PRIVATE KEY`,
		`\b(AKIA|ASIA)[0-9A-Z]{16}\b`,
		`\bgh[opsur]_[0-9A-Za-z]{36}`,
		`\bgithub_pat_[0-9A-Za-z_]{40,}`,
		`\bglpat-[0-9A-Za-z_-]{20}`,
		`\bxox[abprs]-[0-9A-Za-z-]{10,}`,
		`\bsk-[0-9A-Za-z_-]{20,}`,
		`\bAIza[0-9A-Za-z_-]{35}`,
		`\beyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.`,
		`(?i)\b(password|passwd|secret|api[_-]?key|token)"?\s*[=:]\s*\S{8,}`,
	}, "|"))
})

// looksSecret returns a warning where a text that will travel through prompts
// and logs seems to hold a secret.
func looksSecret(field, text string) []string {
	if !secretForms().MatchString(text) {
		return nil
	}
	return []string{"the " + field + " looks as if it holds a secret; records are kept for good and shown to every agent"}
}
