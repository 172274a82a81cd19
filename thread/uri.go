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

// A URI identifies a thread or one of its subagents, and optionally a range of
// messages. It does not identify searches or directories.
//
// These forms identify the same thread: agents://codex/ID, codex/ID, codex://ID
// and codex://threads/ID. A further segment identifies a subagent, the fragment
// #M3 one message and #M3-M9 a range. A bare ID leaves Provider empty; [Set.Open]
// then determines the provider.
type URI struct {
	Provider string
	Thread   string
	Agent    string
	From, To int // range of messages, counted from 1; 0 means all
}

const (
	maxURI    = 4096
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
)

const uriHint = "a thread has the form agents://codex/ID or codex/ID, a subagent codex/ID/AGENT"

// IsUUID reports whether s has the form of a UUID, in upper or lower case.
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

// ParseURI parses a URI in any of its forms and converts UUIDs to lower case. The
// error is Invalid, or Unsupported if s is a search or a directory.
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
		return URI{}, handoff.E("parse uri", s, kind, err, handoff.Advice(uriHint))
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
		return u, fmt.Errorf("searches are %w", handoff.Unsupported)
	}
	scheme, target, hasScheme := strings.Cut(rest, "://")
	if !hasScheme {
		scheme, target = "agents", rest
	}
	if hasScheme && strings.ContainsFunc(rest, unicode.IsSpace) {
		return u, errors.New("contains white space, which is encoded as %20 in a URI")
	}
	if scheme == "agents" && directory(target) {
		return u, fmt.Errorf("directories are %w", handoff.Unsupported)
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
		return u, fmt.Errorf("%d segments; expected a thread and at most one agent", len(segments))
	}
	u.Thread = LowerUUID(segments[0])
	if len(segments) == 2 {
		u.Agent = LowerUUID(segments[1])
	}
	return u, nil
}

// split separates the provider from the other segments, which are still encoded.
func split(scheme, target string) (provider string, segments []string, err error) {
	segments = strings.Split(target, "/")
	switch {
	case scheme != "agents":
		provider = scheme
	case len(segments) == 1 || IsUUID(segments[0]):
		return "", segments, nil // a bare ID, or an ID with an agent
	default:
		provider, segments = segments[0], segments[1:]
	}
	if strings.Trim(provider, lowerCase+"0123456789-") != "" || provider == "" ||
		!strings.Contains(lowerCase, provider[:1]) {
		return "", nil, fmt.Errorf("invalid provider name %q", provider)
	}
	provider = ProviderName(provider)
	if len(segments) > 1 && segments[0] == "threads" {
		segments = segments[1:]
	}
	return provider, segments, nil
}

// ProviderName returns the name of a provider that a URI names by it or by the command of
// its program.
func ProviderName(s string) string {
	if s == "agy" {
		return "antigravity"
	}
	return s
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
		return 0, 0, fmt.Errorf("invalid message range %q: use #M3 for one message or #M3-M9 for several", "#"+frag)
	}
	if to < from {
		return 0, 0, fmt.Errorf("message range %q ends before it starts", "#"+frag)
	}
	return from, to, nil
}

// message returns the number in a string such as M3, or 0 if s is invalid.
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
		return "", fmt.Errorf("invalid percent encoding in %q", seg)
	case s == "":
		return "", errors.New("empty segment")
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "", fmt.Errorf("invalid ID %q: contains control characters or invalid UTF-8", s)
	}
	return s, nil
}

// LowerUUID returns s in lower case if it is a UUID, else s.
func LowerUUID(s string) string {
	if IsUUID(s) {
		return strings.ToLower(s)
	}
	return s
}

// String returns the canonical form of u. Parsing it returns u again.
func (u URI) String() string {
	var b strings.Builder
	if u.Provider != "" {
		b.WriteString("agents://" + u.Provider + "/")
	}
	if u.Provider != "" && u.Thread == "threads" {
		b.WriteString("%74hreads") // a plain "threads" is skipped if another segment follows
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

// MarshalText encodes u as its canonical form.
func (u URI) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText parses b with [ParseURI].
func (u *URI) UnmarshalText(b []byte) (err error) {
	*u, err = ParseURI(string(b))
	return err
}

// Main returns the URI of the thread, without agent and messages.
func (u URI) Main() URI { return URI{Provider: u.Provider, Thread: u.Thread} }

// Child returns the URI of one subagent of the thread.
func (u URI) Child(agent string) URI {
	return URI{Provider: u.Provider, Thread: u.Thread, Agent: LowerUUID(agent)}
}

// Includes reports whether message n is in the range of u.
func (u URI) Includes(n int) bool { return u.From == 0 || n >= u.From && n <= u.To }

// encode escapes the characters that are not allowed in a segment, and a leading
// dot or tilde, which would make the URI a directory.
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
