package handoff

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/internal/tool/secret"
)

// A Draft describes an artifact to publish. Channel and one of Path and Body are
// required.
type Draft struct {
	Channel  string
	Path     string    // an existing file or directory, slash-separated, relative to the workspace
	Body     io.Reader // the content of an artifact without a file; handoff stores it
	Filename string    // the name of the stored file; chosen by MediaType if empty

	// Name makes the body the newest revision of a name in a namespace. The body
	// is always kept; Path and Root are where its file will be rendered.
	Namespace, Name string
	Root            string
	RootDir         string // for SessionRoot and for names: the absolute path of the directory that Path is relative to

	Kind      string
	Title     string // one line of at most MaxTitle characters
	Summary   string // one line of at most MaxSummary characters
	MediaType string
	Replaces  []string // IDs of the artifacts that it supersedes
	Parents   []string // IDs of the artifacts it was made from
	Tags      []string
	Key       string // makes the publish idempotent: a second one with this key adds nothing
	Keep      Keep   // whether to keep a copy; "" for the default of the workspace
	Metadata  map[string]any
	Resolves  []string // IDs of the comments that it resolves
	AskReview bool     // it awaits a review

	CreatedAt time.Time // when it was made, if that was before it is published; zero for now

	// AllowSecret records texts that look like a secret, with a warning, and files that
	// usually hold credentials.
	AllowSecret bool

	Claims      []Claim
	Attestation *Attestation // may be completed until Body has been read
	Tree        *Tree
}

// The limits of a draft and of a producer. Those of text are in characters.
const (
	MaxTitle   = 120
	MaxSummary = 500
	maxWord    = 200 // of a channel, kind, media type, tag, key or ID
	maxThread  = 1000

	maxTags     = 100
	maxRefs     = 1000     // of Replaces, and of Parents
	maxIDs      = 100      // of Producer.IDs, and of an observation
	MaxMetadata = 16 << 10 // bytes of JSON
)

// Channels are the predefined channels. Any other lower-case word is valid too.
var Channels = []struct{ Name, Purpose string }{
	{"analysis", "research notes, discovery, trade-offs"},
	{"design", "design documents, sketches of an interface, diagrams"},
	{"patch", "diffs, changed files, generated code"},
	{"verification", "test logs, check results, review findings"},
	{"handoff", "final summaries, for a parent or a later task"},
}

var channelForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`) })

// CheckChannel returns an error of kind Invalid unless name consists of at most
// 200 lower-case letters and digits in words separated by single dashes.
func CheckChannel(name string) error {
	if channelForm().MatchString(name) && len(name) <= maxWord {
		return nil
	}
	known := make([]string, len(Channels))
	for i, c := range Channels {
		known[i] = c.Name
	}
	return E("channel", fmt.Sprintf("%q", name), Invalid, errors.New("must be lower-case words separated by dashes"),
		Advice("use one of "+strings.Join(known, ", ")+", or another word such as security-review"))
}

// fact checks the draft and returns its fact without the description of the file.
func (d Draft) fact() (*ArtifactPublished, error) {
	if err := CheckChannel(d.Channel); err != nil {
		return nil, err
	}
	if err := d.checkPath(); err != nil {
		return nil, err
	}
	p := &ArtifactPublished{
		Channel: d.Channel, Kind: d.Kind, Path: d.Path, Root: d.Root, Namespace: d.Namespace, Name: d.Name,
		MediaType: d.MediaType, Key: d.Key,
		Title: printable.OneLine(d.Title), Summary: printable.OneLine(d.Summary),
		Replaces: distinct(d.Replaces), Parents: distinct(d.Parents), Tags: distinct(d.Tags),
		Resolves: distinct(d.Resolves), AskReview: d.AskReview,
		Claims: d.Claims, Attestation: d.Attestation, Tree: d.Tree,
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
	if err := p.checkEvidence(); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		name string
		n    int
		most int
	}{{"tags", len(p.Tags), maxTags}, {"artifacts that it replaces", len(p.Replaces), maxRefs},
		{"artifacts that it was made from", len(p.Parents), maxRefs},
		{"comments that it resolves", len(p.Resolves), maxRefs}} {
		if list.n > list.most {
			return nil, d.refuse(fmt.Errorf("has %d %s, more than %d", list.n, list.name, list.most),
				"leave some of them out")
		}
	}
	for _, tag := range p.Tags {
		if tag == "" {
			return nil, d.refuse(errors.New("empty tag"), "leave it out")
		}
		if err := checkText("tag", tag, maxWord); err != nil {
			return nil, err
		}
	}
	var err error
	p.Metadata, err = d.encodeMetadata()
	return p, err
}

func (d Draft) encodeMetadata() ([]byte, error) {
	if len(d.Metadata) == 0 {
		return nil, nil
	}
	b, err := EncodeText(d.Metadata)
	if err != nil {
		return nil, d.refuse(fmt.Errorf("metadata: %w", err), "use values that can be encoded as JSON, in UTF-8")
	}
	if len(b) > MaxMetadata {
		return nil, d.refuse(fmt.Errorf("metadata has %d bytes of JSON, more than %d", len(b), MaxMetadata),
			"put it in the body, or publish it as an artifact of its own")
	}
	return b, nil
}

// checkPath returns an error unless the draft has a path or a body, and not both
// without a name.
func (d Draft) checkPath() error {
	switch {
	case d.Name != "" && (d.Path == "" || d.Namespace == ""):
		return d.refuse(errors.New("a name requires a namespace and the path of its file"),
			"set Namespace and Path, or leave out Name")
	case d.Name == "" && d.Path != "" && d.Body != nil:
		return d.refuse(errors.New("has both a path and a body"), "leave one of them out")
	case d.Path == "" && d.Body == nil:
		return d.refuse(errors.New("has neither a path nor a body"), "name a file or directory, or pass a body")
	}
	return nil
}

// checkCredentials returns an error if the name of a body is that of a file with
// credentials. Files checks what it reads.
func (d Draft) checkCredentials() error {
	for _, name := range []string{d.Name, d.Filename} {
		if err := secret.CheckFile(name, nil); err != nil && !d.AllowSecret {
			return CredentialError(name, err)
		}
	}
	return nil
}

// CredentialError returns the error of kind Invalid for a file that usually holds
// credentials.
func CredentialError(name string, err error) error {
	return E("publish", name, Invalid, err,
		Suggest("leave it out: every agent can read what is published", ActionAllowSecret))
}

func (d Draft) refuse(reason error, hint string) error {
	name := d.Path
	if d.Body != nil {
		name = "-"
	}
	return E("publish", name, Invalid, reason, Advice(hint))
}

func checkText(name, value string, most int) error {
	refuse := func(reason error, hint string) error {
		return E(name, "", Invalid, reason, Advice(hint))
	}
	if !utf8.ValidString(value) {
		return refuse(errors.New("invalid UTF-8"), "encode it as UTF-8")
	}
	if err := checkLength(name, value, most); err != nil {
		return err
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return refuse(errors.New("contains a control character"), "write it as one line of plain text")
	}
	return nil
}

func checkLength(name, value string, most int) error {
	n := utf8.RuneCountInString(value)
	if n <= most {
		return nil
	}
	return E(name, "", Invalid, fmt.Errorf("has %d characters, more than %d", n, most),
		Advice(fmt.Sprintf("shorten it (max %d characters); details belong in the body", most)))
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
