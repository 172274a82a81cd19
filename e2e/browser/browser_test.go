package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// program returns the handoff program that is tested, which E2E_HANDOFF names.
func program(t testing.TB) string {
	t.Helper()
	name := os.Getenv("E2E_HANDOFF")
	if name == "" {
		t.Skip("E2E_HANDOFF does not name the program; .ci/browser builds it")
	}
	return name
}

// A workspace is a directory that the tests fill with the command line.
type workspace struct {
	t   testing.TB
	dir string
	env []string
}

func newWorkspace(t testing.TB, dir string) *workspace {
	t.Helper()
	if dir == "" {
		dir = filepath.Join(t.TempDir(), "shop")
		must(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o755))
	}
	return &workspace{t, dir, []string{"HOME=" + filepath.Dir(dir), "PATH=" + os.Getenv("PATH"), "TZ=UTC"}}
}

// run runs handoff and returns what it prints, without the last line break.
func (w *workspace) run(stdin string, args ...string) string {
	w.t.Helper()
	c := exec.Command(program(w.t), args...)
	c.Dir, c.Env, c.Stdin = w.dir, w.env, strings.NewReader(stdin)
	var errs strings.Builder
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		w.t.Fatalf("handoff %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// id runs handoff with --json and returns the ID in its answer.
func (w *workspace) id(stdin string, args ...string) string {
	w.t.Helper()
	var answer struct{ ID string }
	must(w.t, json.Unmarshal([]byte(w.run(stdin, append(args, "--json")...)), &answer))
	return answer.ID
}

// serve starts the viewer and returns its address and the link that it prints.
func (w *workspace) serve(flags ...string) (base, link string) {
	w.t.Helper()
	c := exec.Command(program(w.t), append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	c.Dir, c.Env = w.dir, w.env
	out, err := c.StderrPipe()
	must(w.t, err)
	must(w.t, c.Start())
	w.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	lines := bufio.NewScanner(out)
	for link == "" && lines.Scan() {
		link, _ = strings.CutPrefix(lines.Text(), "viewer: ")
		if !strings.HasPrefix(lines.Text(), "viewer: ") {
			link = ""
		}
	}
	go io.Copy(io.Discard, out)
	u, err := url.Parse(link)
	must(w.t, err)
	return "http://" + u.Host, link
}

// A tab is one tab of a browser. It records what should not happen on any page.
type tab struct {
	t    testing.TB
	ctx  context.Context
	base string

	mu       sync.Mutex
	problems []string
}

// browser starts a browser, with more options. Its tabs share cookies.
func browser(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	name := os.Getenv("E2E_CHROMIUM")
	if name == "" {
		t.Skip("E2E_CHROMIUM does not name a browser; .ci/browser finds it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(name), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("hide-scrollbars", true))
	options = append(options, more...)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	must(t, chromedp.Run(ctx))
	return ctx
}

func newTab(t testing.TB, parent context.Context, base string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx, base: base}
	chromedp.ListenTarget(ctx, b.listen)
	must(t, chromedp.Run(ctx, network.Enable(), runtime.Enable()))
	return b
}

// listen records console errors, exceptions and requests off the host.
func (b *tab) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			problem = "console: " + fmt.Sprint(e.Args)
		}
	case *runtime.EventExceptionThrown:
		problem = "exception: " + e.ExceptionDetails.Error()
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.base) && !strings.HasPrefix(e.Request.URL, "data:") &&
			!strings.HasPrefix(e.Request.URL, "blob:") {
			problem = "request off the host: " + e.Request.URL
		}
	case *network.EventLoadingFailed:
		if e.BlockedReason != "" {
			problem = "blocked: " + string(e.BlockedReason)
		}
	}
	if problem != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.problems = append(b.problems, problem)
	}
}

// clean fails the test if something went wrong on the pages since the last call.
func (b *tab) clean(where string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.problems {
		b.t.Errorf("%s: %s", where, p)
	}
	b.problems = nil
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// open opens a page.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base+path), chromedp.WaitReady("main"))
}

// eval returns the value of an expression.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	var v T
	b.do(chromedp.Evaluate(expression, &v, func(p *runtime.EvaluateParams) *runtime.EvaluateParams {
		return p.WithAwaitPromise(true)
	}))
	return v
}

// await waits until the page and its scripts are loaded and an expression is true.
func (b *tab) await(what, expression string, limit time.Duration) {
	b.t.Helper()
	loaded := `document.readyState === "complete" && !!(` + expression + ")" // before, a key has no effect
	for end := time.Now().Add(limit); !eval[bool](b, loaded); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s: not within %v: %s", what, limit, expression)
		}
	}
}

// windowHeight is the height of the window in pixels.
const windowHeight = 900

// look sets the size of the window and the theme.
func (b *tab) look(width int, dark bool) {
	b.t.Helper()
	theme := "light"
	if dark {
		theme = "dark"
	}
	b.do(emulation.SetDeviceMetricsOverride(int64(width), windowHeight, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}))
}

// shoot writes a picture of the whole page to the directory that E2E_SHOTS names.
func (b *tab) shoot(name string) {
	b.t.Helper()
	if dir := os.Getenv("E2E_SHOTS"); dir != "" {
		b.shot(filepath.Join(dir, name+".png"))
	}
}

// draw waits until the diagrams of the page are drawn.
func (b *tab) draw() {
	b.t.Helper()
	const figures = `[...document.querySelectorAll("figure[data-diagram]")]`
	b.do(chromedp.Evaluate(figures+`.forEach((f) => f.scrollIntoView())`, nil))
	b.await("the diagrams", figures+`.every((f) => f.querySelector("iframe")?.style.height)`, 20*time.Second)
	b.do(chromedp.Evaluate("scrollTo(0, 0)", nil))
}

// shot writes a picture of the whole page to a file.
func (b *tab) shot(file string) {
	b.t.Helper()
	var picture []byte
	height := eval[float64](b,
		`Math.min(2400, Math.max(400, document.querySelector("main").getBoundingClientRect().bottom + scrollY))`)
	width := eval[float64](b, "innerWidth")
	if eval[bool](b, `!!document.querySelector("iframe")`) { // a frame outside the window is not painted
		b.do(emulation.SetDeviceMetricsOverride(int64(width), int64(height), 1, false))
		defer b.do(emulation.SetDeviceMetricsOverride(int64(width), windowHeight, 1, false))
		eval[bool](b, `new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true), 200)))`)
	}
	b.do(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		picture, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&page.Viewport{Width: width, Height: height, Scale: 1}).Do(ctx)
		return err
	}))
	must(b.t, os.WriteFile(file, picture, 0o644))
}

// setScripts switches scripts on or off.
func setScripts(on bool) chromedp.Action { return emulation.SetScriptExecutionDisabled(!on) }

// shows reports whether the page has an element, without a script of the page.
func (b *tab) shows(selector string) bool {
	b.t.Helper()
	var nodes []*cdp.Node
	b.do(chromedp.Nodes(selector, &nodes, chromedp.ByQueryAll, chromedp.AtLeast(0)))
	return len(nodes) > 0
}
