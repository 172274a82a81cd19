package gitlog

import (
	"net/url"
	"strings"
	"testing"
)

func FuzzParseCommit(f *testing.F) {
	log := strings.Repeat("ab", idSize)
	f.Add([]byte("tree 1234\nparent 5678\ncommitter a <b> 1 +0000\n\n" + subject(log, 3, 4)))
	f.Add([]byte("tree 1234\nparent 1\nparent 2\n\n" + subject(log, 3, 4)))
	f.Add([]byte("tree 1234\n\nhandoff log x records 9223372036854775807-9223372036854775807\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCommit("id", b)
		if err == nil && (c.first < 1 || c.last < c.first || len(c.log) != 2*idSize) {
			t.Errorf("parseCommit = %+v", c)
		}
	})
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 000000000001.json\x00" + strings.Repeat("x", 20)))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseTree(b)
		for _, e := range list {
			if err == nil && len(e.id) != len(noObject) {
				t.Errorf("parseTree = %+v", e)
			}
		}
	})
}

func TestOptions(t *testing.T) {
	for location, want := range map[string]string{
		"git:origin":                          "remote origin, default",
		"git:origin#team":                     "remote origin, team",
		"git:/srv/log.git":                    "/srv/log.git, default",
		"git:../log.git":                      "../log.git, default",
		"git+ssh://git@example.com/log.git#x": "ssh://git@example.com/log.git, x",
		"git+https://example.com/log.git":     "https://example.com/log.git, default",
		"git+ssh://-oProxyCommand=x/log.git":  "has no host or no path",
		"git+ssh://example.com":               "has no host or no path",
		"git:--upload-pack=x":                 "not the name of a remote or a path",
		"git:ext::sh":                         "not the name of a remote or a path",
		"git://example.com/log.git":           "not the name of a remote or a path",
		"git:origin#.x":                       `invalid name ".x"`,
		"git:origin#a..b":                     `invalid name "a..b"`,
		"git:origin#a.lock":                   `invalid name "a.lock"`,
		"git:origin#a/b":                      `invalid name "a/b"`,
		"git:origin?poll=x":                   "invalid setting poll",
		"git:origin?max_body=-1":              "invalid setting max_body",
		"git:origin?poll=1s&poll=2s":          "invalid setting poll",
		"git+https://example.com/log.git?x=1": "invalid setting x",
	} {
		u, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		o, err := options(u)
		got := o.Fetch + ", " + o.Name
		switch {
		case err != nil:
			got = err.Error()
		case o.Remote != "":
			got = "remote " + o.Remote + ", " + o.Name
		}
		if got != want {
			t.Errorf("options(%s) = %q, want %q", location, got, want)
		}
	}
}
