package program

import (
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"github.com/agent-handoff/handoff/internal/tool/userdir"
)

// A redirect is a file that leads the user's browser to a link. Every user of the machine
// can read the arguments of a program; only the owner can read this file.
type redirect struct {
	mu   sync.Mutex
	file string
}

// open starts the user's browser with a link: that of BROWSER, or the system's. It does
// not wait for it.
func (r *redirect) open(getenv func(string) string, link string) error {
	if _, err := r.write(userdir.State(getenv), link); err != nil {
		return err
	}
	err := r.start(getenv)
	if err != nil {
		r.remove()
	}
	return err
}

// start starts the browser with the file.
func (r *redirect) start(getenv func(string) string) error {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	if named := getenv("BROWSER"); named != "" && !strings.Contains(named, "%") {
		program = named
	}
	r.mu.Lock()
	file := r.file
	r.mu.Unlock()
	c := exec.Command(program, (&url.URL{Scheme: "file", Path: file}).String())
	if err := c.Start(); err != nil {
		return err
	}
	go func() { _ = c.Wait() }()
	return nil
}

// write writes the file to a directory, or to that of temporary files if it is "". Its
// mode is 0600.
func (r *redirect) write(dir, link string) (string, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
	}
	f, err := os.CreateTemp(dir, "open-*.html")
	if err != nil {
		return "", err
	}
	r.mu.Lock()
	r.file = f.Name()
	r.mu.Unlock()
	link = html.EscapeString(link)
	_, err = fmt.Fprintf(f, "<!DOCTYPE html>\n<meta charset=utf-8>\n<meta name=referrer content=no-referrer>\n<meta "+
		"http-equiv=refresh content=\"0; url=%s\">\n<title>handoff</title>\n<a href=\"%s\">Open the workspace</a>\n", link,
		link)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		r.remove()
	}
	return f.Name(), err
}

// remove removes the file, once its link was used or the server ends.
func (r *redirect) remove() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != "" {
		_ = os.Remove(r.file)
		r.file = ""
	}
}
