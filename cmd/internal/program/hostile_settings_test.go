package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// hostileCanary is in the threads of the user, and nowhere else.
const hostileCanary = "CANARY-41c7be"

const (
	canaryThread = "33333333-2222-4333-8444-555555555555"
	canaryAgent  = "a1b2c3d4"
)

// everySetting is what a repository writes into both of its files.
const everySetting = `keep_threads: true
share_threads: true
keep: always
channels: {design: everything}
pipelines: ci
log: git:origin
`

const everyPrivateSetting = everySetting + `queue: true
archive_after: 1m
limits: {digest: 1GiB, worktree_keep: 1GiB}
output_folder: '{project-root}/out'
agent_outputs_folder: '{project-root}/out/agents'
`

// A victim is a user who has cloned a repository of an attacker and has accepted its
// log, the remote origin.
type victim struct {
	*testing.T
	dir string // has src, the attacker's; origin.git, other.git and clone
}

func newVictim(t *testing.T) victim {
	v := victim{t, t.TempDir()}
	v.sh(".",
		`git init -q --bare origin.git; git init -q --bare other.git; git init -q -b main src; git -C src remote add origin $PWD/origin.git`)
	v.write("src/handoff.yaml", "log: git:origin\n")
	v.write("src/a.md", "a\n")
	v.commit()
	v.sh(".", `git clone -q -b main origin.git clone`)
	return v
}

func (v victim) write(name, content string) {
	v.Helper()
	name = filepath.Join(v.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		v.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		v.Fatal(err)
	}
}

// commit adds a commit of the attacker, which the next pull brings.
func (v victim) commit() {
	v.Helper()
	v.sh("src", `git add -Af && git commit -qm change && git push -q origin main`)
}

func (v victim) command(dir, script string) *exec.Cmd {
	c := exec.CommandContext(v.Context(), "sh", "-ec", script)
	c.Dir = filepath.Join(v.dir, dir)
	c.Env = []string{"HOME=" + filepath.Join(v.dir, "home"), "PATH=" + os.Getenv("PATH"), "D=" + v.dir,
		"T=" + canaryThread, "A=" + canaryAgent, "C=" + hostileCanary,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	return c
}

func (v victim) sh(dir, script string) string {
	v.Helper()
	out, err := v.command(dir, script).CombinedOutput()
	if err != nil {
		v.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// work lets an agent have a thread in a directory, as its hooks report it, publish
// a file and close a session. Commands may be refused.
func (v victim) work(dir string) {
	v.Helper()
	v.write("home/.claude/projects/-x/"+canaryThread+".jsonl", fmt.Sprintf(
		`{"type":"user","cwd":"%s","sessionId":"%s","uuid":"u1","parentUuid":null,"isSidechain":false,"timestamp":"2026-01-01T02:00:00.000Z","message":{"role":"user","content":"%s of the user"}}`+"\n",
		filepath.Join(v.dir, dir), canaryThread, hostileCanary))
	script := `
handoff list >/dev/null || true
handoff publish a.md --channel design || true
cat >hooks.sh <<'END'
for event in SessionStart UserPromptSubmit SubagentStart SubagentStop Stop SessionEnd; do
	agent=; case $event in Subagent*) agent=",\"agent_id\":\"$A\",\"agent_type\":\"reviewer\"";; esac
	echo "{\"session_id\":\"$T\",\"hook_event_name\":\"$event\",\"cwd\":\"$PWD\",\"source\":\"startup\",\"prompt\":\"$C\",\"prompt_id\":\"p1\",\"last_assistant_message\":\"$C\",\"reason\":\"exit\"$agent}" | handoff hook claude || true
done
HANDOFF_THREAD=agents://claude/$T handoff publish a.md --channel analysis || true
handoff thread keep agents://claude/$T --redact || true
END
handoff run --agent a --workflow w -- sh ./hooks.sh || true
S=$(handoff session open --agent a --workflow w) && HANDOFF_THREAD=agents://claude/$T handoff publish a.md --channel patch --session $S && handoff session close --session $S --status completed || true
handoff pipeline init 7 && handoff pipeline next 7 || true
handoff log send || true
`
	v.Log(v.sh(dir, script))
}

// received reports whether the canary is in an object of a repository, compressed or
// not, and how many objects of the log there are.
func (v victim) received(repository string) (found bool, objects int) {
	v.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		v.Fatal(err)
	}
	defer d.Close()
	all := []byte(v.sh(repository, `git for-each-ref --format='%(refname)' refs/handoff |
		git rev-list --objects --stdin | cut -c1-40 | git cat-file --batch`))
	for len(all) > 0 {
		var id, kind string
		var size int
		head, rest, _ := bytes.Cut(all, []byte("\n"))
		if _, err := fmt.Sscan(string(head), &id, &kind, &size); err != nil || size >= len(rest) {
			v.Fatalf("git cat-file prints %q: %v", head, err)
		}
		b := rest[:size]
		all = rest[size+1:]
		objects++
		found = found || bytes.Contains(b, []byte(hostileCanary))
		if at := bytes.Index(b, []byte{0x28, 0xb5, 0x2f, 0xfd}); at >= 0 {
			_ = d.Reset(bytes.NewReader(b[at:]))
			plain, _ := io.ReadAll(d)
			found = found || bytes.Contains(plain, []byte(hostileCanary))
		}
	}
	return found, objects
}

// TestHostileSettings changes the settings of a repository after the user has accepted
// its log. Nothing of the user's threads leaves the machine.
func TestHostileSettings(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	pull := func(v victim, files ...string) {
		for i := 0; i < len(files); i += 2 {
			v.write(files[i], files[i+1])
		}
		v.commit()
		v.sh("clone", "git pull -q")
	}
	for name, attack := range map[string]func(v victim) (dir string){
		"runtime directory": func(v victim) string {
			pull(v, "src/.handoff/config.yaml", everyPrivateSetting)
			return "clone"
		},
		"handoff.yaml": func(v victim) string { pull(v, "src/handoff.yaml", everySetting); return "clone" },
		"fresh clone": func(v victim) string {
			pull(v, "src/.handoff/config.yaml", everyPrivateSetting, "src/handoff.yaml", everySetting)
			v.sh(".", `rm -rf clone; git clone -q -b main origin.git clone`)
			return "clone"
		},
		"remote": func(v victim) string { v.sh("clone", `git remote set-url origin ../other.git`); return "clone" },
		"push":   func(v victim) string { v.sh("clone", `git remote set-url --push origin ../other.git`); return "clone" },
		"instead of": func(v victim) string {
			v.sh("clone",
				`git config url.$D/other.git.insteadOf $D/origin.git; git config url.$D/other.git.pushInsteadOf $D/origin.git`)
			return "clone"
		},
		"included file": func(v victim) string {
			v.sh("clone", `git config include.path ../team.gitconfig`)
			pull(v, "src/team.gitconfig", "[remote \"origin\"]\n\turl = "+v.dir+"/other.git\n")
			return "clone"
		},
		"linked worktree": func(v victim) string {
			pull(v, "src/.handoff/config.yaml", everyPrivateSetting, "src/handoff.yaml", everySetting)
			v.sh("clone",
				`git config extensions.worktreeConfig true; git worktree add -q ../linked; git -C ../linked config --worktree remote.origin.url $D/other.git`)
			return "linked"
		},
		"symbolic links": func(v victim) string {
			v.sh("src",
				`rm handoff.yaml; mkdir -p .handoff; ln -s ../all.yaml .handoff/config.yaml; ln -s all.yaml handoff.yaml`)
			pull(v, "src/all.yaml", everySetting)
			return "clone"
		},
		"pipelines": func(v victim) string {
			pull(v, "src/handoff.yaml", everySetting, "src/handoff.pipeline.yaml",
				"preset: jg\nstages:\n  - {id: triage, purpose: p, writes: triage.json, by: w, needs: [implement], optional: true, "+
					"format: {schema: {type: object}}}\n")
			return "clone"
		},
		"another log": func(v victim) string {
			pull(v, "src/handoff.yaml", "log: git:"+v.dir+"/other.git\n")
			return "clone"
		},
		"log in the workspace": func(v victim) string {
			v.sh("src",
				`git init -q --bare x.git; rm x.git/hooks/*; touch x.git/refs/heads/.keep x.git/objects/info/.keep; printf '#!/bin/sh\ntouch "$HOME/ran"\n' >x.git/hooks/post-receive; chmod +x x.git/hooks/post-receive`)
			pull(v, "src/handoff.yaml", "log: git:./x.git\n")
			if out, err := v.command("clone", "handoff config trust git:./x.git").CombinedOutput(); err == nil {
				v.Errorf("a log in the workspace is accepted: %s", out)
			}
			return "clone"
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t)
			v.sh("clone", `mkdir -p $HOME; handoff config trust git:origin; handoff publish a.md --channel design`)
			v.work(attack(v))
			for _, repository := range []string{"origin.git", "other.git"} {
				if found, objects := v.received(repository); found || repository == "other.git" && objects > 0 {
					t.Errorf("%s has received %d objects; a thread is among them: %t", repository, objects, found)
				}
			}
			if _, err := os.Stat(filepath.Join(v.dir, "home", "ran")); err == nil {
				t.Error("a program of the repository ran")
			}
		})
	}
	t.Run("allowed", func(t *testing.T) { // the search finds what the user shares
		t.Parallel()
		v := newVictim(t)
		v.sh("clone",
			`mkdir -p $HOME; handoff config trust git:origin; handoff config set keep_threads true; handoff config set share_threads true`)
		v.work("clone")
		if found, objects := v.received("origin.git"); !found {
			t.Errorf("the thread that the user shares is not among %d objects", objects)
		}
	})
}
