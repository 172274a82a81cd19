package jsonschema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// formats are the supported formats, as defined by the RFCs that the draft
// refers to.
var formats = map[string]func(string) bool{
	"date": func(s string) bool { return parses(time.DateOnly, s) },
	"date-time": func(s string) bool {
		return parses(time.RFC3339, strings.ToUpper(s)) && !strings.Contains(s, ",")
	},
	"email": isEmail,
	"ipv4":  func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() },
	"ipv6": func(s string) bool {
		a, err := netip.ParseAddr(s)
		return err == nil && a.Is6() && a.Zone() == ""
	},
	"json-pointer":  isPointer,
	"regex":         func(s string) bool { _, err := regexp.Compile(s); return err == nil },
	"uri":           func(s string) bool { u, ok := parsedURI(s); return ok && u.IsAbs() },
	"uri-reference": func(s string) bool { _, ok := parsedURI(s); return ok },
	"uuid":          isUUID,
}

func parses(layout, s string) bool {
	_, err := time.Parse(layout, s)
	return err == nil
}

func isEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Name == "" && a.Address == s
}

func isUUID(s string) bool {
	for i, c := range []byte(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || (!dash && !strings.ContainsRune("0123456789abcdefABCDEF", rune(c))) {
			return false
		}
	}
	return len(s) == 36
}

func isPointer(s string) bool {
	rest := strings.ReplaceAll(strings.ReplaceAll(s, "~0", ""), "~1", "")
	return (s == "" || s[0] == '/') && !strings.Contains(rest, "~")
}

func parsedURI(s string) (*url.URL, bool) {
	u, err := url.Parse(s)
	return u, err == nil && !strings.ContainsAny(s, "\\ <>\"{}|^`")
}
