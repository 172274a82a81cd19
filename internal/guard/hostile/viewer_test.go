package hostile

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// views are the pages and files of the viewer.
var views = []string{
	"/", "/sessions", "/sessions/" + sess, "/sessions/" + sess + "/files/manifest.json", "/sessions/" + sess +
		"/files/in.txt", "/files/" + sess + "/in.txt",
	"/artifacts/ID", "/bodies/ID", "/artifacts/context.md", "/artifacts/design:latest", "/channels", "/channels/design",
	"/search?q=policy", "/check",
	"/graph?focus=ID", "/pipelines", "/pipelines/42", "/threads",
}

// view starts the viewer in the workspace, asks for every page, and returns how many
// there are. Data that can't be read is shown as what it is: no page is an
// internal error.
func (p place) view() (shown int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program, "serve", "--no-token", "--listen", "127.0.0.1:0")
	cmd.Dir, cmd.Env = p.ws, []string{"HOME=" + p.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + p.dir}
	out, err := cmd.StderrPipe()
	must(p.t, err)
	must(p.t, cmd.Start())
	lines := bufio.NewScanner(out)
	base := ""
	for base == "" && lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "viewer: "); ok {
			base = strings.TrimSuffix(url, "/")
		}
	}
	var rest head
	copied := make(chan struct{})
	go func() { defer close(copied); io.Copy(&rest, out) }()
	if base != "" { // else it says why it can't serve this workspace
		for _, path := range views {
			if p.look(ctx, base+strings.ReplaceAll(path, "ID", p.id)) == http.StatusOK {
				shown++
			}
		}
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	<-copied
	_ = cmd.Wait()
	if ctx.Err() != nil {
		p.t.Errorf("the viewer did not end in %s", hangs)
	}
	if bytes.Contains(rest.kept, []byte("goroutine ")) {
		p.t.Errorf("the viewer panics: %.600s", rest.kept)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss<<10 > maxMemory {
		p.t.Errorf("the viewer used %d MiB", usage.Maxrss>>10)
	}
	return shown
}

// look asks for a page and returns its status.
func (p place) look(ctx context.Context, url string) int {
	p.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(p.t, err)
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		p.t.Errorf("GET %s: %v", url, err)
		return 0
	}
	defer answer.Body.Close()
	var page head
	_, _ = io.Copy(&page, answer.Body)
	if answer.StatusCode >= http.StatusInternalServerError {
		p.t.Errorf("GET %s: got status %d\n%.600s", url, answer.StatusCode, page.kept)
	}
	if bytes.Contains(page.kept, []byte(canary)) {
		p.t.Errorf("GET %s: shows a file outside the workspace", url)
	}
	return answer.StatusCode
}

// TestOriginalViewer checks that the pages exist where nothing is hostile: else the
// corpus would prove nothing.
func TestOriginalViewer(t *testing.T) {
	const want = 11 // at least: some are of files that only a hostile workspace has
	if shown := newPlace(t, build(t)).view(); shown < want {
		t.Errorf("got %d of %d pages, want at least %d", shown, len(views), want)
	}
}
