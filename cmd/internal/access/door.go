package access

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
)

// FromOtherSite reports whether a page of another site, or of another server on
// this machine, asks for more than to be left for this one.
func FromOtherSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// IsPlainPath reports whether the path of a URL names nothing outside what its
// route serves.
func IsPlainPath(u *url.URL) bool {
	p := u.Path
	tooLong := func(element string) bool { return len(element) > 255 }
	if strings.ContainsAny(p, "\\\x00") || len(p) > 4096 || slices.ContainsFunc(strings.Split(p, "/"), tooLong) {
		return false
	}
	clean := path.Clean(p)
	return p == clean || p == clean+"/"
}

// A Door admits the browser that opened its link. Each link works once.
type Door struct {
	mu     sync.Mutex
	name   string
	secret func() string // nil for a door that is open
	cookie string
	key    string // of the link that was not used yet
}

// NewDoor returns a door. secret returns a new secret: the key of a link, or the value of the
// cookie, whose name begins with name; nil for a door that is open.
func NewDoor(name string, secret func() string) *Door {
	d := &Door{name: name, secret: secret}
	if secret != nil {
		d.cookie, d.key = secret(), secret()
	}
	return d
}

// Link returns the path that lets one browser in, once, and then leads to /.
func (d *Door) Link() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.secret == nil {
		return "/"
	}
	return "/open?key=" + d.key
}

// Open reports whether a request has the key of the link, which is then used up, and sets the
// cookie. HEAD, which programs that preview links send, does not use it.
func (d *Door) Open(w http.ResponseWriter, r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.secret == nil {
		return true
	}
	if !Equal(r.URL.Query().Get("key"), d.key) {
		return false
	}
	if r.Method == http.MethodGet {
		d.key = d.secret()
		http.SetCookie(w, &http.Cookie{Name: d.cookieName(r), Value: d.cookie, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteLaxMode})
	}
	return true
}

// Admits reports whether a request has the cookie of the door, or needs none.
func (d *Door) Admits(r *http.Request) bool {
	c, err := r.Cookie(d.cookieName(r))
	return d.secret == nil || err == nil && Equal(c.Value, d.cookie)
}

// cookieName is that of the cookie. A browser sends it to every port of a host,
// so it has the port.
func (d *Door) cookieName(r *http.Request) string {
	_, port, _ := strings.Cut(r.Host, ":")
	return d.name + strings.Map(func(c rune) rune {
		if c < '0' || c > '9' {
			return -1
		}
		return c
	}, port)
}
