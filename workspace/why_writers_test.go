package workspace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWhyInferredWriters traces a file with a history of commits: a call is inferred only
// within the time of the commit that has the bytes, and only with lines that it wrote.
func TestWhyInferredWriters(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 2, n, 10, 0, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		day        int // of the call; the file was committed on days 2, 10 and 20
		tool       string
		input      object
		failed     bool
		last       string // what a person appended and did not commit
		role, kept string // what is expected of the file, and of HEAD
	}{
		"a deletion before two commits":   {5, "Edit", object{"old_string": "4\n", "new_string": ""}, false, "", "", ""},
		"a deletion for this commit":      {15, "Edit", object{"old_string": "4\n", "new_string": ""}, false, "", "", ""},
		"a call after the commit":         {25, "Edit", object{"old_string": "4", "new_string": "3"}, false, "", "", ""},
		"a line of an earlier commit":     {5, "Edit", object{"old_string": "4", "new_string": "3"}, false, "", "", ""},
		"no line is in the file":          {15, "Edit", object{"old_string": "4", "new_string": "5\n6"}, false, "", "", ""},
		"the same bytes after the commit": {25, "Write", object{"content": "0\nX\n2\n3\n"}, false, "", "", ""},
		"a call that failed":              {15, "Write", object{"content": "0\nX\n2\n"}, true, "", "", ""},
		"an input of unknown lines":       {15, "Write", object{"content": strings.Repeat("0\n", 40_000)}, false, "", "", ""},
		"half of its lines": {15, "Write", object{"content": "0\nX\nformatted\ndifferently\n"}, false, "",
			"wrote-inferred", "wrote-inferred"},
		"before what is not committed": {15, "Write", object{"content": "0\nX\n2\n"}, false, "5\n", "", "wrote-inferred"},
		"for what is not committed": {25, "Write", object{"content": "0\nX\n2\n3\n6\n"}, false, "5\n",
			"wrote-inferred", ""},
		"only before it existed": {1, "Write", object{"content": "0\nX\n2\n"}, false, "", "", ""},
		"the exact bytes before": {15, "Write", object{"content": "0\nX\n2\n3\n"}, false, "",
			"wrote-exact", "wrote-exact"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.at = day(2)
			m.sh(m.repo, "printf '1\\n2\\n3\\n' > f; git add f; git commit -qm one")
			m.at = day(10)
			m.sh(m.repo, "printf '0\\n1\\n2\\n3\\n' > f; git commit -qam two")
			m.at = day(20)
			m.sh(m.repo, "printf '0\\nX\\n2\\n3\\n' > f; git commit -qam three")
			if tt.last != "" {
				writeFile(t, filepath.Join(m.repo, "f"), "0\nX\n2\n3\n"+tt.last)
			}
			m.at = day(tt.day)
			a := m.claude("2823d1df-720a-4c31-ac55-ae8ba7260001", "", m.repo)
			tt.input["file_path"] = filepath.Join(m.repo, "f")
			a.call(tt.tool, tt.input, "ok", tt.failed)
			m.save()
			m.at = day(26)
			for subject, want := range map[string]string{"f": tt.role, "HEAD": tt.kept} {
				_, got := m.why(m.repo, subject)
				if len(got[want]) != min(len(want), 1) || len(got["wrote-exact"])+len(got["wrote-inferred"]) != min(len(want), 1) {
					t.Errorf("why %s: got %v, want %q", subject, got, want)
				}
			}
		})
	}
}

// TestWhyAmended traces bytes that are newer than the author's time of their commit.
func TestWhyAmended(t *testing.T) {
	m := newMachine(t)
	a := m.claude("2823d1df-720a-4c31-ac55-ae8ba7260001", "", m.repo)
	a.write("f", "one\n")
	m.sh(m.repo, "git add f; git commit -qm f")
	a.call("Write", object{"file_path": filepath.Join(m.repo, "f"), "content": "two\n"}, "ok", false)
	m.sh(m.repo, "echo two > f; git commit -qa --amend --no-edit")
	m.save()
	for _, subject := range []string{"f", "HEAD"} {
		_, got := m.why(m.repo, subject)
		if want := fmt.Sprint(map[string][]string{"wrote-exact": {a.uri}}); fmt.Sprint(got) != want {
			t.Errorf("why %s: got %v, want %s", subject, got, want)
		}
	}
}
