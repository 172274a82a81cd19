package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/log/localstate"
)

// TestCheckIndex does harm to the index of a workspace: check has a note, but
// where the index shows that records were lost, and none after a repair.
func TestCheckIndex(t *testing.T) {
	says := map[string]string{
		"bad pages": "is damaged", "not a database": "is damaged", "altered record": "disagrees with the log",
		"cut in half": "is damaged", "other record": "contains another record 30",
		"ahead of the log":  "beyond the end of the log",
		"lacks an artifact": "disagrees with the log", "a directory": "can't be used now",
	}
	list := map[string]func(t *testing.T, dir, file string){
		"none":              func(*testing.T, string, string) {},
		"lacks an artifact": func(t *testing.T, _, file string) { query(t, file, `DELETE FROM artifacts WHERE seq = 7`) },
	}
	for name, harm := range harms {
		list[name] = harm
	}
	for name, harm := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testWorkspace(t)
			publishSome(t, dir, 30)
			w := openDir(t, dir)
			check := func() handoff.Report {
				report, err := w.Store().Check(t.Context())
				must(t, err)
				return report
			}
			harm(t, w.c.Dirs.Runtime, filepath.Join(w.c.Dirs.Runtime, localstate.FileName))
			report := check()
			lost := name == "ahead of the log"
			if report.OK() == lost || name == "none" && len(report.Findings) > 0 {
				t.Errorf("check finds %+v", report.Findings)
			}
			if want := says[name]; want != "" && !slices.ContainsFunc(report.Findings,
				func(f handoff.Finding) bool { return f.Name == localstate.FileName && strings.Contains(f.Text, want) }) {
				t.Errorf("check finds %+v, want %q", report.Findings, want)
			}
			if _, err := w.Store().Repair(t.Context(), time.Now()); err != nil {
				t.Error(err)
			}
			if _, err := w.Publish(t.Context(), handoff.Draft{Channel: "design", Path: "a.md"}); err != nil {
				t.Error(err)
			}
			// The directory stays, the killed writer may have stored a body without a
			// record, and an index without a lock file is not used here: all are notes.
			report = check()
			noted := slices.Contains([]string{"a directory", "killed writer", "no lock file"}, name)
			// On a busy machine the index may not be used at once.
			for end := time.Now().Add(time.Minute); len(report.Findings) > 0 && report.OK() && !noted &&
				time.Now().Before(end); report = check() {
				_, err := w.List(t.Context(), ListOptions{})
				must(t, err)
			}
			if !report.OK() || len(report.Findings) > 0 && !noted {
				t.Errorf("after a repair, check finds %+v", report.Findings)
			}
			checkWorkspace(t, dir, 31)
		})
	}
}
