package gitlog

import (
	"fmt"
	"net/url"
	"strings"
)

// splitURL returns a URL without user name and password, and these. It does not need a
// valid URL: git accepts some that are not.
func splitURL(location string) (plain, user, password string) {
	scheme, rest, ok := strings.Cut(location, "://")
	if !ok {
		return location, "", ""
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return location, "", ""
	}
	user, password, _ = strings.Cut(rest[:at], ":")
	return scheme + "://" + rest[at+1:], unescape(user), unescape(password)
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// authenticate makes git get the password of a URL from its environment. Every user of
// the machine can read the arguments of a process, and git passes the URL on to others;
// only the owner can read an environment. It returns the URL for the arguments.
func (r *repository) authenticate(location string) string {
	plain, user, password := splitURL(location)
	if password == "" {
		return location
	}
	scheme, rest, _ := strings.Cut(plain, "://")
	host := rest[:strings.IndexAny(rest+"/", "/?#")]
	if scheme != "http" && scheme != "https" { // no other transport takes a password
		return scheme + "://" + user + "@" + rest
	}
	n := len(r.env)
	key := fmt.Sprintf("credential.%s://%s.helper=", scheme, host) // a redirect to another host gets none
	get := fmt.Sprintf(
		`!f() { test "$1" = get && printf 'username=%%s\npassword=%%s\n' "$HANDOFF_GIT_USER_%d" "$HANDOFF_GIT_PASSWORD_%d"; }; f`, n, n)
	r.options = append(r.options, "-c", key, "-c", key+get)
	r.env = append(r.env, fmt.Sprintf("HANDOFF_GIT_USER_%d=%s", n, user),
		fmt.Sprintf("HANDOFF_GIT_PASSWORD_%d=%s", n, password))
	return plain
}
