// Package thread is about conversations that agent tools left on disk: what
// names one, what it says once read, and how it is shown.
//
// A [URI] names a thread, or one subagent of it. A [Driver] is what is known of
// a tool before any of its files is opened; opened, it is a [Provider], which
// finds a [Thread] by id and its subagents as [Agent] values. A [Set] holds all
// providers and answers a URI, and [Set.Write] shows the answer: that is all a
// command line, an MCP tool or a web page needs.
//
// Transcripts belong to others. They are only read, they may be growing, torn
// or damaged, and what is wrong with one is said in its Warnings: it never
// fails a read. Messages are streamed, so a transcript may be larger than
// memory.
//
// What a tool's files look like is no business of this package: that is in one
// package per provider below it.
package thread

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-handoff/handoff"
)

// A URI names a thread or a subagent of one, and perhaps some of its messages.
// It names nothing else: searches and directories have their own grammar.
//
// These are the same thread: agents://codex/ID, codex/ID, codex://ID and
// codex://threads/ID; a further segment names the subagent, #M3 one message,
// #M3-M9 several. An id alone leaves Provider empty, for a Set to find out.
type URI struct {
	Provider string
	Thread   string
	Agent    string
	From, To int // the messages asked for, counted from 1; 0 means all
}

const (
	maxURI    = 4096
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
)

const uriHint = "name a thread as agents://codex/ID or codex/ID, a subagent as codex/ID/AGENT"

// IsUUID reports whether s looks like a UUID, in any case.
func IsUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if (s[i] < '0' || s[i] > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

// ParseURI reads a URI in any of its forms. UUIDs come out in lower case. The
// error is Invalid, or Unsupported for what is a search or a directory.
func ParseURI(s string) (URI, error) {
	u, err := parse(s)
	if err == nil && len(u.String()) > maxURI {
		err = fmt.Errorf("longer than %d bytes", maxURI)
	}
	if err != nil {
		kind := handoff.Invalid
		if errors.Is(err, handoff.Unsupported) {
			kind = handoff.Unsupported
		}
		return URI{}, &handoff.Error{Op: "read uri", Name: s, Kind: kind, Err: err, Hint: handoff.Advice(uriHint)}
	}
	return u, nil
}

func parse(s string) (u URI, err error) {
	if len(s) > maxURI {
		return u, fmt.Errorf("longer than %d bytes", maxURI)
	}
	rest, frag, hasFrag := strings.Cut(s, "#")
	if hasFrag {
		if u.From, u.To, err = messages(frag); err != nil {
			return u, err
		}
	}
	if strings.Contains(rest, "?") {
		return u, fmt.Errorf("a search is %w here", handoff.Unsupported)
	}
	scheme, target, hasScheme := strings.Cut(rest, "://")
	if !hasScheme {
		scheme, target = "agents", rest
	}
	if scheme == "agents" && directory(target) {
		return u, fmt.Errorf("a directory is %w here", handoff.Unsupported)
	}
	var segments []string
	if u.Provider, segments, err = split(scheme, target); err != nil {
		return u, err
	}
	for i, seg := range segments {
		if segments[i], err = decode(seg); err != nil {
			return u, err
		}
	}
	if len(segments) > 2 {
		return u, fmt.Errorf("%d segments are too many: a thread and an agent are all there is", len(segments))
	}
	u.Thread = lower(segments[0])
	if len(segments) == 2 {
		u.Agent = lower(segments[1])
	}
	return u, nil
}

// split tells the provider from the other segments, which are not decoded yet.
func split(scheme, target string) (provider string, segments []string, err error) {
	segments = strings.Split(target, "/")
	switch {
	case scheme != "agents":
		provider = scheme
	case len(segments) == 1 || IsUUID(segments[0]):
		return "", segments, nil // an id alone, or with an agent
	default:
		provider, segments = segments[0], segments[1:]
	}
	if strings.Trim(provider, lowerCase+"0123456789-") != "" || provider == "" || !strings.Contains(lowerCase, provider[:1]) {
		return "", nil, fmt.Errorf("%q is no provider's name", provider)
	}
	if len(segments) > 1 && segments[0] == "threads" {
		segments = segments[1:]
	}
	return provider, segments, nil
}

func directory(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return strings.HasPrefix(target, "/") || first == "." || first == ".." || first == "~"
}

func messages(frag string) (from, to int, err error) {
	first, last, several := strings.Cut(frag, "-")
	if !several {
		last = first
	}
	from, to = message(first), message(last)
	if from == 0 || to == 0 {
		return 0, 0, fmt.Errorf("%q names no messages; #M3 names one, #M3-M9 several", "#"+frag)
	}
	if to < from {
		return 0, 0, fmt.Errorf("%q ends before it starts", "#"+frag)
	}
	return from, to, nil
}

// message reads the number in M3, 0 if it is none.
func message(s string) int {
	const most = 9 // digits
	digits, ok := strings.CutPrefix(s, "M")
	n, err := strconv.ParseUint(digits, 10, 31)
	if !ok || err != nil || len(digits) > most || digits[0] == '0' {
		return 0
	}
	return int(n)
}

func decode(seg string) (string, error) {
	s, err := url.PathUnescape(seg)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is no percent encoding", seg)
	case s == "":
		return "", errors.New("a segment is empty")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "", fmt.Errorf("%q is no id", s)
	}
	return s, nil
}

func lower(s string) string {
	if IsUUID(s) {
		return strings.ToLower(s)
	}
	return s
}

// String returns the URI as it is printed everywhere. Parsing it gives u again.
func (u URI) String() string {
	var b strings.Builder
	if u.Provider != "" {
		b.WriteString("agents://" + u.Provider + "/")
	}
	if u.Provider != "" && u.Thread == "threads" {
		b.WriteString("%74hreads") // the plain word is skipped when another segment follows
	} else {
		b.WriteString(encode(u.Thread))
	}
	if u.Agent != "" {
		b.WriteString("/" + encode(u.Agent))
	}
	switch {
	case u.From > 0 && u.To > u.From:
		fmt.Fprintf(&b, "#M%d-M%d", u.From, u.To)
	case u.From > 0:
		fmt.Fprintf(&b, "#M%d", u.From)
	}
	return b.String()
}

// MarshalText makes a URI a string in JSON.
func (u URI) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText parses a URI.
func (u *URI) UnmarshalText(b []byte) (err error) {
	*u, err = ParseURI(string(b))
	return err
}

// Main returns the URI of the thread alone.
func (u URI) Main() URI { return URI{Provider: u.Provider, Thread: u.Thread} }

// Child returns the URI of one subagent of the thread.
func (u URI) Child(agent string) URI {
	return URI{Provider: u.Provider, Thread: u.Thread, Agent: lower(agent)}
}

// asks reports whether message n is one of those u names.
func (u URI) asks(n int) bool { return u.From == 0 || n >= u.From && n <= u.To }

// encode escapes what would not survive in a segment. A leading dot or tilde
// would read as a directory.
func encode(seg string) string {
	const plain = "-_.~:@!$&'()*+,;="
	var b strings.Builder
	for i := range len(seg) {
		c := seg[i]
		word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if word || strings.IndexByte(plain, c) >= 0 && (i > 0 || c != '.' && c != '~') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
