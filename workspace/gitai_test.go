package workspace_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/trace"
)

// An authorship is what a note states, by file and line: the tool and the conversation.
type authorship map[string]map[int]string

var (
	sessionKey = regexp.MustCompile(`^(s_[0-9a-f]{14})::t_[0-9a-f]{14}$`)
	rangeForm  = regexp.MustCompile(`^([1-9][0-9]*)(?:-([1-9][0-9]*))?$`)
)

// readAuthorship parses a note as sections 1.2.2 to 1.2.4 of the Git AI Standard v3.0.0
// require it, of a commit. It was written from the text of the standard alone.
func readAuthorship(note, commit string) (authorship, error) {
	attestations, metadata, ok := strings.Cut("\n"+note, "\n---\n")
	if !ok {
		return nil, fmt.Errorf("no divider")
	}
	var m struct {
		Version  string          `json:"schema_version"`
		Base     string          `json:"base_commit_sha"`
		Prompts  *map[string]any `json:"prompts"`
		Humans   map[string]any  `json:"humans"`
		GitAI    *string         `json:"git_ai_version"`
		Sessions map[string]struct {
			Agent *struct {
				Tool, ID, Model *string
			} `json:"agent_id"`
			Human  *string           `json:"human_author"`
			Custom map[string]string `json:"custom_attributes"`
		} `json:"sessions"`
	}
	d := json.NewDecoder(strings.NewReader(metadata))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if m.Version != "authorship/3.0.0" || m.Base != commit || m.Prompts == nil {
		return nil, fmt.Errorf("metadata: %q, %q", m.Version, m.Base)
	}
	by, path := authorship{}, ""
	for _, line := range strings.Split(strings.TrimPrefix(attestations, "\n"), "\n") {
		if line == "" {
			continue
		}
		if !strings.HasPrefix(line, " ") {
			if path = line; strings.ContainsAny(line, " \t") {
				if path = strings.TrimSuffix(strings.TrimPrefix(line, `"`), `"`); len(path)+2 != len(line) {
					return nil, fmt.Errorf("a path that is not quoted: %q", line)
				}
			}
			if by[path] != nil {
				return nil, fmt.Errorf("%s twice", path)
			}
			by[path] = map[int]string{}
			continue
		}
		fields := strings.Split(strings.TrimPrefix(line, "  "), " ")
		if len(fields) != 2 || path == "" {
			return nil, fmt.Errorf("entry %q", line)
		}
		key := sessionKey.FindStringSubmatch(fields[0])
		if key == nil {
			return nil, fmt.Errorf("key %q", fields[0])
		}
		s, ok := m.Sessions[key[1]]
		if !ok || s.Agent == nil || s.Agent.Tool == nil || s.Agent.ID == nil || s.Agent.Model == nil {
			return nil, fmt.Errorf("no session %s", key[1])
		}
		who := *s.Agent.Tool + ":" + *s.Agent.ID
		if sum := sha256.Sum256([]byte(who)); key[1] != "s_"+hex.EncodeToString(sum[:])[:14] {
			return nil, fmt.Errorf("%s is not the ID of %s", key[1], who)
		}
		last := 0
		for _, part := range strings.Split(fields[1], ",") {
			r := rangeForm.FindStringSubmatch(part)
			if r == nil {
				return nil, fmt.Errorf("range %q", part)
			}
			from, _ := strconv.Atoi(r[1])
			to, _ := strconv.Atoi(r[1+min(1, len(r[2]))])
			if from <= last || to < from {
				return nil, fmt.Errorf("order of %q", fields[1])
			}
			for last = from; last <= to; last++ {
				if by[path][last] != "" {
					return nil, fmt.Errorf("two writers of line %d", last)
				}
				by[path][last] = who
			}
			last = to
		}
	}
	for path, lines := range by {
		if len(lines) == 0 {
			return nil, fmt.Errorf("no entry of %s", path)
		}
	}
	return by, nil
}

// gitAI exports commits.
func (m *machine) gitAI(dir string, write bool, commits ...string) []trace.Authorship {
	m.t.Helper()
	w := m.open(dir)
	defer w.Close()
	list, warnings, err := w.Claims(thread.NewSet(all.Drivers(), m.getenv, m.home)).GitAI(m.t.Context(), commits, write)
	must(m.t, err)
	if len(warnings) > 0 {
		m.t.Errorf("got warnings %q", warnings)
	}
	return list
}

// TestGitAIHistory makes a history in which each line names its writer: agents in worktrees
// whose branches are merged as one commit or rebased, and a person. After the export, git
// blame and the notes give each line of an agent its writer, and no other line one.
func TestGitAIHistory(t *testing.T) {
	t.Parallel()
	rounds := 2
	if os.Getenv("HANDOFF_LONG") != "" {
		rounds = 10 // 10 squash merges, 10 rebases, and more than 50 commits
	}
	m := newMachine(t)
	random := rand.New(rand.NewPCG(34, uint64(rounds)))
	m.sh(m.repo, "printf 'base\\n' > shared.txt; printf 'base\\n' > 'a file.txt'; git add .; git commit -qm base; git config core.abbrev 40")
	files := []string{"shared.txt", "a file.txt", "own.txt"}
	written := 0
	// write appends or inserts a line of an agent in a file, and commits it.
	write := func(a *agent, file string) {
		written++
		path := filepath.Join(a.cwd, file)
		b, _ := os.ReadFile(path)
		line := fmt.Sprintf("%s wrote %d\n", a.who(), written)
		switch lines := strings.SplitAfter(string(b), "\n"); {
		case len(b) == 0:
			a.write(file, line)
		default:
			at := lines[random.IntN(len(lines)-1)]
			a.call("Edit", object{"file_path": path, "old_string": at, "new_string": at + line}, "ok", false)
			writeFile(t, path, strings.Replace(string(b), at, at+line, 1))
		}
		m.at = m.at.Add(time.Second)
		m.sh(a.cwd, "git add -A; git commit -qm 'change of an agent'")
	}
	session := func(n int) string { return fmt.Sprintf("2823d1df-720a-4c31-ac55-ae8ba72%05d", n) }
	for n := range rounds {
		// Two agents in worktrees: the branch of one is merged as one commit, the other's is rebased.
		squashed, rebased := filepath.Join(m.repo, "../squashed"), filepath.Join(m.repo, "../rebased")
		m.sh(m.repo, fmt.Sprintf("git worktree add -q -b s%d %s; git worktree add -q -b r%d %s", n, squashed, n, rebased))
		a, second := m.claude(session(3*n), "", squashed), m.claude(session(3*n+1), "", squashed)
		b := m.claude(session(3*n+2), "", rebased)
		write(a, files[0])
		write(second, files[0])
		write(a, files[1])
		write(b, fmt.Sprint("b", n, ".txt"))
		write(b, fmt.Sprint("b", n, ".txt"))
		m.at = m.at.Add(time.Minute)
		m.sh(m.repo, fmt.Sprintf("git merge -q --squash s%d; git commit -qm squash", n))
		m.sh(m.repo, fmt.Sprintf("echo 'a person wrote %d' >> shared.txt; git commit -qam person", n))
		main := m.claude(session(100+n), "", m.repo)
		write(main, files[2])
		m.at = m.at.Add(time.Minute)
		m.sh(rebased, "git rebase -q main")
		m.sh(m.repo, fmt.Sprintf("git merge -q --ff-only r%d; git worktree remove %s; git worktree remove %s", n, squashed, rebased))
	}
	m.save()
	commits := strings.Fields(m.sh(m.repo, "git rev-list HEAD"))
	for _, l := range m.gitAI(m.repo, true, commits...) {
		if _, err := readAuthorship(l.Note, l.Commit); err != nil {
			t.Errorf("%s: %v\n%s", l.Commit, err, l.Note)
		}
	}
	before := m.sh(m.repo, "git rev-parse refs/notes/ai")
	m.gitAI(m.repo, true, commits...)
	if after := m.sh(m.repo, "git rev-parse refs/notes/ai"); after != before {
		t.Error("a second export changed the notes")
	}
	notes := map[string]authorship{}
	for _, line := range strings.Split(strings.TrimSpace(m.sh(m.repo, "git notes --ref=ai list")), "\n") {
		_, commit, _ := strings.Cut(line, " ")
		by, err := readAuthorship(m.sh(m.repo, "git notes --ref=ai show "+commit), commit)
		must(t, err)
		notes[commit] = by
	}
	attributed, others := 0, 0
	for _, file := range strings.Split(strings.TrimSpace(m.sh(m.repo, "git ls-files")), "\n") {
		blame := m.sh(m.repo, "git blame -s -n -f -l '"+file+"'")
		for _, line := range regexp.MustCompile(`(?m)^\^?([0-9a-f]+) (.*?) +(\d+) +\d+\) (.*)$`).FindAllStringSubmatch(blame, -1) {
			number, _ := strconv.Atoi(line[3])
			got := ""
			for commit, by := range notes {
				if strings.HasPrefix(commit, line[1]) {
					got = by[line[2]][number]
				}
			}
			who, _, ofAgent := strings.Cut(line[4], " wrote ")
			if !ofAgent || who == "a person" {
				who = ""
			}
			if got != who {
				t.Errorf("%s: got writer %q of %q", file, got, line[4])
			}
			if who != "" {
				attributed++
			} else {
				others++
			}
		}
	}
	t.Logf("%d commits, %d lines of agents, %d of others", len(commits), attributed, others)
	if attributed != written || others != rounds+2 {
		t.Errorf("got %d lines of agents and %d others, want %d and %d", attributed, others, written, rounds+2)
	}
}

// who returns the agent as a note names it.
func (a *agent) who() string { return "claude:" + a.session }

// TestGitAINotes checks that an export keeps what a note of another tool has, that why reads
// the note, and that a damaged note is not replaced.
func TestGitAINotes(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	a := m.claude("2823d1df-720a-4c31-ac55-ae8ba7260001", "", m.repo)
	a.write("f", "one\ntwo\nthree\n")
	m.sh(m.repo, "git add f; git commit -qm f")
	m.save()
	commit := m.head(m.repo)
	const other = `f
  h_31dce776f88375 1
  0123456789abcdef 2
---
{"schema_version":"authorship/3.0.0","git_ai_version":"1.4.5","base_commit_sha":"x","prompts":{"0123456789abcdef":
{"agent_id":{"tool":"cursor","id":"c1","model":"m1"},"total_additions":1}},"humans":{"h_31dce776f88375":{"author":"Ann <a@example.com>"}}}
`
	note := filepath.Join(m.home, "note")
	writeFile(t, note, other)
	m.sh(m.repo, "git notes --ref=ai add -F "+note)
	list := m.gitAI(m.repo, true, "HEAD")
	if list[0].Lines != 3 {
		t.Errorf("got %d lines, want 3", list[0].Lines)
	}
	got := m.sh(m.repo, "git notes --ref=ai show HEAD")
	for _, want := range []string{"  h_31dce776f88375 1\n", "  0123456789abcdef 2\n", "_", " 3\n", `"git_ai_version": "1.4.5"`,
		`"total_additions": 1`, `"id": "` + a.session + `"`, `"base_commit_sha": "x"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the note has no %q:\n%s", want, got)
		}
	}
	for line, want := range map[string][]string{"1": {"Ann <a@example.com>"}, "2": {"agents://cursor/c1"}, "3": nil} {
		found, _ := m.why(m.repo, "f:"+line)
		var noted []string
		for _, h := range found.Hops {
			if h.Evidence != nil && h.Evidence[0].Kind == "note" {
				noted = append(noted, h.Ref)
			}
		}
		if !slices.Equal(noted, want) {
			t.Errorf("why f:%s: got notes of %q, want %q", line, noted, want)
		}
	}
	writeFile(t, note, "damaged\n")
	m.sh(m.repo, "git notes --ref=ai add -f -F "+note)
	w := m.open(m.repo)
	defer w.Close()
	_, _, err := w.Claims(thread.NewSet(all.Drivers(), m.getenv, m.home)).GitAI(t.Context(), []string{commit}, true)
	if err == nil || m.sh(m.repo, "git notes --ref=ai show HEAD") != "damaged\n" {
		t.Errorf("a damaged note: got %v", err)
	}
}

// TestGitAIReader checks that a note with one damaged field is none.
func TestGitAIReader(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	a := m.claude("2823d1df-720a-4c31-ac55-ae8ba7260001", "", m.repo)
	a.write("f", "one\ntwo\n")
	m.sh(m.repo, "git add f; git commit -qm f")
	m.save()
	l := m.gitAI(m.repo, false, "HEAD")[0]
	if _, err := readAuthorship(l.Note, l.Commit); err != nil {
		t.Fatal(err)
	}
	for _, damage := range [][2]string{{"\n---\n", "\n--\n"}, {" 1-2\n", " 2-1\n"}, {" 1-2\n", " 0-2\n"}, {"::t_", ":t_"},
		{"  s_", " s_"}, {"authorship/3.0.0", "authorship/2.0.0"}, {l.Commit, l.Commit[1:]}, {`"prompts"`, `"prompt"`},
		{`"agent_id"`, `"agent"`}, {`"tool"`, `"tools"`}, {a.session, "x"}, {`"sessions"`, `"session"`}} {
		damaged := strings.Replace(l.Note, damage[0], damage[1], 1)
		if _, err := readAuthorship(damaged, l.Commit); err == nil || damaged == l.Note {
			t.Errorf("%q: got no error", damage)
		}
	}
}
