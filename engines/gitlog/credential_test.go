package gitlog

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestSplitURL(t *testing.T) {
	for _, tt := range []struct{ in, plain, user, password string }{
		{"https://u:p@host/x", "https://host/x", "u", "p"},
		{"https://u:p%40q%2Fr@host:8443/x?y#z", "https://host:8443/x?y#z", "u", "p@q/r"},
		{"https://u:p w\"q@host/x", "https://host/x", "u", `p w"q`},
		{"https://u:p@q@host/x", "https://host/x", "u", "p@q"},
		{"https://:p@host", "https://host", "", "p"},
		{"https://u:100%@host/", "https://host/", "u", "100%"},
		{"ssh://git@host/x", "ssh://host/x", "git", ""},
		{"https://host/a@b", "https://host/a@b", "", ""},
		{"git@host:x", "git@host:x", "", ""}, {"/a/b@c", "/a/b@c", "", ""}, {"", "", "", ""},
	} {
		if plain, user, password := splitURL(tt.in); plain != tt.plain || user != tt.user || password != tt.password {
			t.Errorf("splitURL(%q) = %q, %q, %q, want %q, %q, %q", tt.in, plain, user, password, tt.plain, tt.user, tt.password)
		}
	}
}

// TestPasswordInNoArguments reads and writes a log whose URL has a password. The server
// gets it, and while git runs no process of this machine has it among its arguments. A
// server that the request is redirected to does not get it.
func TestPasswordInNoArguments(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc")
	}
	const user, password = "ada", "s3cr3t-CANARY/@:"
	var mu sync.Mutex
	var authenticated, asked int
	var shown []string
	look := func() {
		files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && bytes.Contains(b, []byte("CANARY")) {
				shown = append(shown, string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
			}
		}
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if _, _, ok := r.BasicAuth(); ok {
			t.Errorf("the password was sent to another host: %s", r.URL)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="other"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		look()
		if strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, elsewhere.URL+r.URL.String(), http.StatusFound)
			return
		}
		if u, p, ok := r.BasicAuth(); ok && u == user && p == password {
			authenticated++
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="log"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	location := strings.Replace(server.URL, "://", "://ada:s3cr3t-CANARY%2F%40%3A@", 1)
	for _, path := range []string{"/log.git", "/moved.git"} {
		l := machine(t, location+path)
		for _, err := range l.Read(t.Context(), 0) {
			if err == nil || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%s: got %v, want an error without the password", path, err)
			}
		}
		repo, err := l.repository(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := l.pushCommit(t.Context(), repo, commit{id: strings.Repeat("0", 40)}, commit{}); err == nil ||
			strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: push: got %v, want an error without the password", path, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if authenticated < 2 || asked == 0 {
		t.Errorf("the server was given the password %d times, the other was asked %d times; want at least 2 and 1",
			authenticated, asked)
	}
	if len(shown) > 0 {
		t.Errorf("the password is in the arguments of %q", shown)
	}
}
