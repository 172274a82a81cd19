package e2e

import (
	"bufio"
	"cmp"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/agent-handoff/handoff/e2e/model"
)

// storied is an artifact of the story, as some surfaces show it.
type storied struct {
	ID, Channel, File string
	Producer          struct{ Harness, Session, Thread string }
}

// TestStory has Claude Code design, Codex wait for the design and write a patch, and Gemini CLI
// wait for the patch and review it, each in its worktree of one repository. list, show, why,
// cost and the viewer name the same producer of each artifact.
func TestStory(t *testing.T) {
	h := newHome(t)
	put := func(name, text, channel, from string) string {
		return "printf '%s\\n' '" + text + "' >" + name + " && handoff publish " + name + " --channel " + channel + from
	}
	wait := func(c client, channel string) model.Step {
		return model.Step{Text: "I wait.", Calls: []model.Call{c.tool("artifact_wait", map[string]any{"channel": channel, "seconds": 50})}}
	}
	s := h.serve(model.Script{
		"design": {{Text: "I write.", Calls: []model.Call{claude.shell(put("design.md", "Retry thrice.", "design", ""))}},
			{Text: "Done."}},
		"patch": {wait(codex, "design"), wait(codex, "design"),
			{Text: "I write.", Calls: []model.Call{codex.shell(put("retry.go", "package retry", "patch", " --from design:latest"))}},
			{Text: "Done."}},
		"review": {wait(gemini, "patch"), wait(gemini, "patch"),
			{Text: "I write.", Calls: []model.Call{
				gemini.shell(put("review.md", "Good.", "verification", " --from patch:latest"))}},
			{Text: "Done."}},
	})
	prompts := map[string]string{"claude": "[[design]] Design.", "codex": "[[patch]] Patch.", "gemini": "[[review]] Review."}
	for _, c := range []client{claude, codex, gemini} {
		h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
		c.configure(h, s.URL)
		h.must(nil, "git", "worktree", "add", "-q", filepath.Join(filepath.Dir(h.work), c.name))
	}
	var group sync.WaitGroup
	for _, c := range []client{codex, gemini, claude} {
		there := *h
		there.work = filepath.Join(filepath.Dir(h.work), c.name)
		group.Go(func() {
			if _, err := there.run(append(c.env(s.URL), "GEMINI_CLI_TRUST_WORKSPACE=true"), c.prompt(prompts[c.name])...); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
	group.Wait()

	var list struct{ Artifacts []storied }
	h.handoff(&list, "list", "--json")
	want := map[string]client{"design": claude, "patch": codex, "verification": gemini}
	v := h.viewer()
	for _, a := range list.Artifacts {
		c, ok := want[a.Channel]
		if !ok { // handed over by the hooks
			continue
		}
		delete(want, a.Channel)
		if a.Producer.Harness != c.harness || !strings.HasPrefix(a.Producer.Thread, "agents://"+c.provider+"/") {
			t.Errorf("list: %s is by %+v, want %s", a.Channel, a.Producer, c.harness)
		}
		h.told(a, c, v)
	}
	if len(want) > 0 {
		t.Errorf("no artifact of %v", want)
	}
}

var byProducer = regexp.MustCompile(`<dt>By</dt><dd>([^<]*)`)

// told compares what show, why, cost and the viewer tell of an artifact with its record.
func (h *home) told(a storied, c client, v viewer) {
	h.t.Helper()
	var shown storied
	h.handoff(&shown, "show", a.ID, "--json")
	if shown.Producer != a.Producer {
		h.t.Errorf("show: %s is by %+v, want %+v", a.Channel, shown.Producer, a.Producer)
	}
	var why struct {
		Hops []struct{ Hop, Ref string }
	}
	h.handoff(&why, "why", a.File, "--json")
	published := ""
	for _, hop := range why.Hops {
		if hop.Hop == "published" && published == "" {
			published = hop.Ref
		}
	}
	if thread, _, _ := strings.Cut(published, "#"); thread != a.Producer.Thread {
		h.t.Errorf("why: %s was published in %s, want %s: %+v", a.Channel, published, a.Producer.Thread, why)
	}
	for by, key := range map[string]string{"artifact": a.ID, "thread": a.Producer.Thread} {
		var costs struct {
			Rows []struct {
				Key      string
				Programs []string
			}
		}
		h.handoff(&costs, "cost", "--by", by, "--json")
		found := false
		for _, row := range costs.Rows {
			if row.Key == key {
				found = len(row.Programs) == 1 && row.Programs[0] == c.harness
			}
		}
		if !found {
			h.t.Errorf("cost --by %s has no row for %s by %s: %+v", by, key, c.harness, costs.Rows)
		}
	}
	page, err := v.page("/artifacts/" + a.ID)
	m := byProducer.FindStringSubmatch(page)
	if err != nil || m == nil || m[1] != c.harness || !strings.Contains(page, strings.TrimPrefix(a.Producer.Thread, "agents://")) {
		h.t.Errorf("the page of %s names %v, %v, want %s and its thread", a.Channel, m, err, c.harness)
	}
}

// A viewer is a server of pages.
type viewer struct{ root, token string }

// page returns a page.
func (v viewer) page(path string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, v.root+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	return string(b), err
}

// viewer starts the viewer.
func (h *home) viewer() viewer {
	h.t.Helper()
	path, err := h.find("handoff")
	if err != nil {
		h.t.Fatal(err)
	}
	serve := exec.Command(path, "serve", "--listen", "127.0.0.1:0")
	serve.Dir, serve.Env = h.work, h.env
	stderr, err := serve.StderrPipe()
	if err = cmp.Or(err, serve.Start()); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		serve.Process.Kill()
		serve.Wait()
	})
	var v viewer
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if _, at, ok := strings.Cut(lines.Text(), "serving "); ok {
			v.root = strings.TrimSuffix(at, "/mcp")
		}
		if _, token, ok := strings.Cut(lines.Text(), "token: "); ok {
			v.token = token
			go io.Copy(io.Discard, stderr)
			return v
		}
	}
	h.t.Fatal("serve prints no address and token")
	return v
}
