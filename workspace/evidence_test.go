package workspace_test

import (
	"github.com/agent-handoff/handoff/session"

	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/conformance/threadtest"
	"github.com/agent-handoff/handoff/thread"
	"github.com/agent-handoff/handoff/thread/all"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/claims"
)

// A shop is a git repository with a workspace, and a home directory with threads.
type shop struct {
	t    *testing.T
	dir  string
	home string
	w    *workspace.Workspace
}

func newShop(t *testing.T) shop {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := shop{t: t, dir: dir, home: t.TempDir()}
	first, err := firstShop()
	if err == nil {
		err = os.CopyFS(dir, first)
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.w, err = workspace.Open(dir, workspace.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.w.Close() })
	return s
}

// firstShop returns the files of a repository with one commit, which all tests copy.
var firstShop = sync.OnceValues(func() (fs.FS, error) {
	dir, err := os.MkdirTemp("", "handoff-shop-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "shop.go"), []byte("package shop\n"), 0o644); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init", "-q", "--template="}, {"add", "."},
		{"-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-q", "-m", "first"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("git %q: %w\n%s", args, err, out)
		}
	}
	files := fstest.MapFS{}
	return files, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files[name] = &fstest.MapFile{Mode: info.Mode()}
		if !d.IsDir() {
			files[name].Data, err = os.ReadFile(filepath.Join(dir, name))
		}
		return err
	})
})

func (s shop) git(args ...string) {
	s.t.Helper()
	if out, err := exec.Command("git", append([]string{"-C", s.dir}, args...)...).CombinedOutput(); err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

func (s shop) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

// as returns the shop on behalf of an agent in a thread.
func (s shop) as(agent, conversation string) shop {
	s.w = s.w.As(workspace.Caller{Dir: s.dir,
		Producer: handoff.Producer{Agent: agent, Harness: "test", Thread: conversation, Source: handoff.FromFlag}})
	return s
}

// attest attests a command that prints an output and ends with a status.
func (s shop) attest(status int, output string, argv ...string) string {
	s.t.Helper()
	done, err := s.w.Claims(nil).Attest(s.t.Context(), argv, false, func(w io.Writer) (session.Exit, error) {
		io.WriteString(w, output)
		return session.Exit{Code: status}, nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return done.ID
}

func (s shop) set() *thread.Set {
	return thread.NewSet(all.Drivers(), func(string) string { return "" }, s.home)
}

// claim publishes an artifact with a claim, and returns its ID.
func (s shop) claim(evidence ...string) string {
	s.t.Helper()
	id, err := s.tryClaim(evidence...)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

func (s shop) tryClaim(evidence ...string) (string, error) {
	claim := handoff.Claim{Text: "tests pass"}
	for _, text := range evidence {
		e, err := claims.ParseEvidence(text)
		if err != nil {
			s.t.Fatal(err)
		}
		claim.Evidence = append(claim.Evidence, e)
	}
	done, err := s.w.Claims(s.set()).Publish(s.t.Context(),
		handoff.Draft{Body: strings.NewReader("the report"), Channel: "verification",
			Claims: []handoff.Claim{claim}})
	return done.ID, err
}

// check compares the verdict of a claim, and a part of its reason.
func (s shop) check(name, id string, want handoff.Verdict, reason string) {
	s.t.Helper()
	v, err := s.w.Claims(s.set()).Verify(s.t.Context(), id)
	if err != nil {
		s.t.Errorf("%s: %v", name, err)
		return
	}
	b, _ := json.Marshal(v)
	if v.Verdict != want || !strings.Contains(string(b), reason) {
		s.t.Errorf("%s: got %s, want %s and %q in\n%s", name, v.Verdict, want, reason, b)
	}
	s.checkNotice(name, id, want, reason)
}

// checkNotice checks that the notice of an artifact is as a verdict, unless that is due to
// what the log does not have: a change of the working tree, of a thread or of the output.
func (s shop) checkNotice(name, id string, verdict handoff.Verdict, reason string) {
	s.t.Helper()
	a, err := s.w.Hub().Artifact(s.t.Context(), id)
	if err != nil || a.Claimed == nil {
		s.t.Fatalf("%s: got %v, %v, want a notice of the claim", name, a.Claimed, err)
	}
	want := map[handoff.Verdict]handoff.NoticeCode{handoff.VerdictVerified: handoff.NoticeVerified,
		handoff.VerdictStale: handoff.NoticeClaimStale, handoff.VerdictAsserted: handoff.NoticeAsserted,
		handoff.VerdictContradicted: handoff.NoticeContradicted}[verdict]
	if strings.Contains(reason, "changed") && !strings.Contains(reason, "while") {
		want = a.Claimed.Code
	}
	if a.Attestation != nil && verdict == handoff.VerdictContradicted {
		want = handoff.NoticeAttestFailed
	}
	if a.Claimed.Code != want {
		s.t.Errorf("%s: got notice %+v, want %s", name, *a.Claimed, want)
	}
}

// TestAttestedClaims checks the verdicts of claims whose commands handoff ran, or not.
func TestAttestedClaims(t *testing.T) {
	const command = "command:go test ./..."
	t.Run("never run", func(t *testing.T) {
		s := newShop(t)
		s.check("", s.claim(command), handoff.VerdictAsserted, "not attested")
		s.check("without evidence", s.claim(), handoff.VerdictAsserted, "")
	})
	t.Run("true", func(t *testing.T) {
		s := newShop(t)
		attested := s.attest(0, "ok", "go", "test", "./...")
		id := s.claim(command)
		s.check("", id, handoff.VerdictVerified, attested)
		s.check("the attestation", attested, handoff.VerdictVerified, "go test ./... succeeded")
		s.check("by ID", s.claim("artifact:"+attested), handoff.VerdictVerified, attested)
		s.git("add", ".")
		s.check("staged", id, handoff.VerdictVerified, attested)
		s.write("shop.go", "package shop // changed\n")
		s.check("the tree changed", id, handoff.VerdictStale, "changed since")
		s.check("claimed on another tree", s.claim(command), handoff.VerdictStale, "another tree")
		s.write("shop.go", "package shop\n")
		s.check("the tree is as before", id, handoff.VerdictVerified, attested)
		s.write("new.go", "package shop\n")
		s.check("a new file", id, handoff.VerdictStale, "changed since")
	})
	t.Run("false", func(t *testing.T) {
		s := newShop(t)
		attested := s.attest(0, "ok", "go", "test", "./...")
		failed := s.attest(1, "FAIL", "go", "test", "./...")
		id := s.claim(command)
		s.check("", id, handoff.VerdictContradicted, failed)
		s.check("by ID", s.claim("artifact:"+failed), handoff.VerdictContradicted, "exit status 1")
		if _, err := s.w.Withdraw(t.Context(), failed, "unwanted"); err != nil {
			t.Fatal(err)
		}
		s.check("a failure is not undone by its withdrawal", id, handoff.VerdictContradicted, failed)
		s.attest(0, "ok", "go", "test", "./...")
		s.check("it succeeded later, on the same tree", id, handoff.VerdictVerified, "")
		s.check("the weakest evidence decides", s.claim("artifact:"+attested, "artifact:"+failed),
			handoff.VerdictContradicted, "")
		s.write("shop.go", "package shop // changed\n")
		s.attest(1, "FAIL", "go", "test", "./...")
		s.check("it failed on a later tree", id, handoff.VerdictStale, "changed since")
	})
	t.Run("withdrawn", func(t *testing.T) {
		s := newShop(t)
		attested := s.attest(0, "ok", "go", "test", "./...")
		id, byID := s.claim(command), s.claim("artifact:"+attested)
		if _, err := s.w.Withdraw(t.Context(), attested, "of another version"); err != nil {
			t.Fatal(err)
		}
		s.check("a success is undone by its withdrawal", id, handoff.VerdictAsserted, "not attested")
		s.check("by ID", byID, handoff.VerdictAsserted, "withdrawn")
	})
	t.Run("imported", func(t *testing.T) {
		there, here := newShop(t), newShop(t) // with the same files
		opened, err := there.w.Sessions().Open(t.Context(),
			session.OpenOptions{Agent: handoff.SessionAgent{Name: "ada"}, Workflow: handoff.SessionWorkflow{Name: "test"}})
		if err != nil {
			t.Fatal(err)
		}
		there.w = there.w.As(workspace.Caller{
			Dir: there.dir, Producer: handoff.Producer{Session: opened.ID, Source: handoff.FromFlag}})
		attested := there.attest(0, "ok", "go", "test", "./...")
		there.check("where it ran", there.claim(command), handoff.VerdictVerified, attested)
		file := filepath.Join(t.TempDir(), "session.tar")
		if _, err := there.w.Sessions().Export(t.Context(), opened.ID, file); err != nil {
			t.Fatal(err)
		}
		if _, err := here.w.Sessions().Import(t.Context(), file); err != nil {
			t.Fatal(err)
		}
		here.check("elsewhere", here.claim(command), handoff.VerdictAsserted, "not attested")
		here.check("by ID", here.claim("artifact:"+attested), handoff.VerdictAsserted, "imported")
	})
	t.Run("another command", func(t *testing.T) {
		s := newShop(t)
		s.attest(0, "", "true")
		s.check("true", s.claim(command), handoff.VerdictAsserted, "not attested")
		s.attest(0, "ok", "go", "test", "./...", "-run", "TestNothing")
		s.check("other arguments", s.claim(command), handoff.VerdictAsserted, "not attested")
		s.attest(0, "ok", "sh", "-c", "go test ./... | tail")
		s.check("a pipe", s.claim(command), handoff.VerdictAsserted, "not attested")
		s.attest(0, "ok", "sh", "-c", "go  test './...'")
		s.check("in a shell", s.claim(command), handoff.VerdictVerified, "")
	})
	t.Run("another directory", func(t *testing.T) {
		s := newShop(t)
		s.attest(0, "ok", "go", "test", "./...")
		if err := os.Mkdir(filepath.Join(s.dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		s.w = s.w.As(workspace.Caller{Dir: filepath.Join(s.dir, "sub")})
		s.check("", s.claim(command), handoff.VerdictAsserted, "not attested")
	})
	t.Run("by another agent", func(t *testing.T) {
		s := newShop(t)
		s.as("reviewer", "").attest(0, "ok", "go", "test", "./...")
		s.check("", s.as("worker", "").claim(command), handoff.VerdictVerified, `"by":"reviewer"`)
	})
	t.Run("the command changes the tree", func(t *testing.T) {
		s := newShop(t)
		done, err := s.w.Claims(nil).Attest(t.Context(), []string{"go", "generate"}, false,
			func(io.Writer) (session.Exit, error) {
				s.write("generated.go", "package shop\n")
				return session.Exit{}, nil
			})
		if err != nil || done.Attestation.TreeAfter == "" || len(done.Warnings) == 0 {
			t.Errorf("got %+v, %q, %v, want the tree after the command and a warning", done.Attestation, done.Warnings, err)
		}
		s.check("", s.claim("command:go generate"), handoff.VerdictStale, "while the command ran")
	})
	t.Run("output edited afterwards", func(t *testing.T) {
		s := newShop(t)
		attested := s.attest(0, "ok", "go", "test", "./...")
		id := s.claim(command)
		a, err := s.w.Hub().Artifact(t.Context(), attested)
		if err != nil {
			t.Fatal(err)
		}
		edit(t, a.File)
		s.check("the file: its copy is intact", id, handoff.VerdictVerified, "")
		edit(t, filepath.Join(s.w.Store().Runtime(), "bodies", "sha256", a.Digest.Value[:2], a.Digest.Value[2:]))
		s.check("the copy", id, handoff.VerdictContradicted, "was changed")
	})
	t.Run("a placeholder", func(t *testing.T) {
		s := newShop(t)
		s.write("log.txt", "ok  \tall tests passed\t0.4s\n")
		done, err := s.w.Publish(t.Context(), handoff.Draft{
			Path: "log.txt", Channel: "verification", Kind: "attestation"})
		if err != nil {
			t.Fatal(err)
		}
		s.check("", s.claim("artifact:"+done.ID), handoff.VerdictAsserted, "not the output of an attested command")
		s.check("as a command", s.claim(command), handoff.VerdictAsserted, "not attested")
	})
	t.Run("outside git", func(t *testing.T) {
		s := newShop(t)
		if err := os.RemoveAll(filepath.Join(s.dir, ".git")); err != nil {
			t.Fatal(err)
		}
		s.attest(0, "ok", "go", "test", "./...")
		s.check("succeeded", s.claim(command), handoff.VerdictAsserted, "tree was not recorded")
		s.attest(1, "FAIL", "go", "test", "./...")
		s.check("failed", s.claim(command), handoff.VerdictContradicted, "exit status 1")
	})
}

// edit changes a file, whatever its mode.
func edit(t *testing.T, file string) {
	t.Helper()
	os.Remove(file)
	if err := os.WriteFile(file, []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A toolCall is a call of a command in a thread.
type toolCall struct {
	id, command, output string
	status              int
}

// threads write a thread of each program, with a prompt, an answer and
// calls, and return its URI.
var conversations = map[string]func(s shop, id int, cwd string, calls ...toolCall) string{
	"claude": func(s shop, n int, cwd string, calls ...toolCall) string {
		id := fmt.Sprintf("0c4f3c1e-7b1a-4d59-9d0e-%012d", n)
		add := func(list []string, kind string, more map[string]any) []string {
			r := map[string]any{"sessionId": id, "version": "2.1.140", "cwd": cwd, "isSidechain": false, "type": kind,
				"timestamp": "2026-06-01T12:00:00.000Z", "uuid": fmt.Sprintf("%08d-0000-4000-8000-%012d", n, len(list))}
			for k, v := range more {
				r[k] = v
			}
			return append(list, encode(r))
		}
		type obj = map[string]any
		list := add(nil, "user", obj{"message": obj{"role": "user", "content": "test it"}})
		answer := func(block obj) {
			list = add(list, "assistant",
				obj{"message": obj{"id": "m", "role": "assistant", "model": "claude-opus-4-8", "content": []obj{block}}})
		}
		answer(obj{"type": "text", "text": "I run the tests."})
		for _, c := range calls {
			answer(obj{"type": "tool_use", "id": c.id, "name": "Bash", "input": obj{"command": c.command}})
			text := c.output
			if c.status != 0 {
				text = fmt.Sprintf("Exit code %d\n%s", c.status, text)
			}
			list = add(list, "user",
				obj{
					"message": obj{"role": "user", "content": []obj{
						{"type": "tool_result", "tool_use_id": c.id, "content": text, "is_error": c.status != 0}}}})
		}
		threadtest.WriteFile(s.t, strings.Join(list, "\n")+"\n", s.home, ".claude", "projects", "-shop", id+".jsonl")
		return "agents://claude/" + id
	},
	"codex": func(s shop, n int, cwd string, calls ...toolCall) string {
		type obj = map[string]any
		id := fmt.Sprintf("019c871c-b1f9-7f60-9c4f-%012d", n)
		var list []string
		add := func(kind string, payload obj) {
			list = append(list, encode(obj{"timestamp": "2026-02-22T20:48:50.000Z", "type": kind, "payload": payload}))
		}
		add("session_meta", obj{"id": id, "cwd": cwd, "cli_version": "0.130.0", "source": "cli"})
		add("response_item", obj{"type": "message", "role": "user",
			"content": []obj{{"type": "input_text", "text": "test it"}}})
		add("response_item", obj{"type": "message", "role": "assistant",
			"content": []obj{{"type": "output_text", "text": "I run the tests."}}})
		for _, c := range calls {
			add("response_item", obj{"type": "function_call", "name": "exec_command", "call_id": c.id,
				"arguments": encode(obj{"cmd": c.command, "workdir": cwd})})
			add("response_item", obj{"type": "function_call_output", "call_id": c.id,
				"output": fmt.Sprintf("Chunk ID: ab\nWall time: 0.4 seconds\nProcess exited with code %d\nOriginal token count: "+
					"3\nOutput:\n%s", c.status, c.output)})
		}
		threadtest.WriteFile(s.t, strings.Join(list, "\n")+"\n", s.home, ".codex", "sessions", "2026", "02", "22",
			"rollout-2026-02-22T20-48-50-"+id+".jsonl")
		return "agents://codex/" + id
	},
	"opencode": func(s shop, n int, cwd string, calls ...toolCall) string {
		type obj = map[string]any
		id := fmt.Sprintf("ses_1a0000000%dffeParent0000000%d", n, n)
		threadtest.WriteDatabase(s.t, func(exec func(query string, args ...any)) {
			exec(
				`CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT, version TEXT, agent TEXT, revert TEXT,
				time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, time_compacting INTEGER, time_archived INTEGER)`)
			exec(
				`CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL)`)
			exec(
				`CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT NOT NULL, session_id TEXT NOT NULL, time_created INTEGER NOT NULL, time_updated INTEGER NOT NULL, data TEXT NOT NULL)`)
			const at = 1780000000000
			exec("INSERT INTO session VALUES (?,'p',NULL,'slug',?,'A title','1.17.3','build',NULL,?,?,NULL,NULL)", id, cwd, at,
				at)
			rows := 0
			part := func(message string, data obj) {
				rows++
				exec("INSERT INTO part VALUES (?,?,?,?,?,?)", fmt.Sprintf("prt_%03d", rows), message, id, at, at, encode(data))
			}
			exec("INSERT INTO message VALUES ('msg_1',?,?,?,?)", id, at+1, at+1,
				encode(obj{"role": "user", "time": obj{"created": at + 1}}))
			part("msg_1", obj{"type": "text", "text": "test it"})
			exec("INSERT INTO message VALUES ('msg_2',?,?,?,?)", id, at+2, at+2,
				encode(obj{"role": "assistant", "modelID": "m", "finish": "stop",
					"time": obj{"created": at + 2, "completed": at + 3}}))
			part("msg_2", obj{"type": "text", "text": "I run the tests."})
			for _, c := range calls {
				part("msg_2", obj{"type": "tool", "callID": c.id, "tool": "bash",
					"state": obj{"status": "completed", "input": obj{"command": c.command}, "output": c.output,
						"metadata": obj{"exit": c.status}, "time": obj{"start": at + 2, "end": at + 3}}})
			}
		}, s.home, ".local", "share", "opencode", "opencode.db")
		return "agents://opencode/" + id
	},
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestConversationClaims checks the verdicts of claims whose commands an agent ran, in
// the formats of three programs. The tree of such a call is unknown.
func TestConversationClaims(t *testing.T) {
	const command = "command:go test ./..."
	for name, write := range conversations {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			passed := toolCall{"call_1", "go test ./...", "ok", 0}
			failed := toolCall{"call_2", "go test ./...", "FAIL", 1}
			uri := write(s, 1, s.dir, passed)
			own := s.as("worker", uri)

			id := own.claim(command)
			s.check("true", id, handoff.VerdictAsserted, "exit status 0 in "+uri+"#M2; its tree is not known")
			s.check("never run", own.claim("command:go vet ./..."), handoff.VerdictAsserted, "no call of it")
			s.check("the message", s.claim("thread:"+uri+"#M2"), handoff.VerdictAsserted, "exit status 0")
			s.check("a message without calls", s.claim("thread:"+uri+"#M1"), handoff.VerdictAsserted, "no exit status")
			s.check("run by another agent", s.as("other", "").claim(command), handoff.VerdictAsserted, "no call of it")

			write(s, 1, s.dir, passed, failed)
			s.check("an earlier call", id, handoff.VerdictAsserted, "exit status 0")
			s.check("false", own.claim(command), handoff.VerdictContradicted, "exit status 1")
			s.check("several calls, one of which failed", s.claim("thread:"+uri+"#M2"), handoff.VerdictContradicted,
				"a failure in")

			edited := passed
			edited.output = "ok, all of them"
			write(s, 1, s.dir, edited)
			s.check("output edited afterwards", id, handoff.VerdictContradicted, "was changed")
			write(s, 1, s.dir, toolCall{"call_9", "ls", "", 0})
			s.check("the call is gone", id, handoff.VerdictAsserted, "no longer has the call")

			attested := s.attest(0, "ok", "go", "test", "./...")
			s.check("attested, too", id, handoff.VerdictVerified, attested)

			elsewhere := write(s, 2, t.TempDir(), passed)
			if _, err := s.tryClaim("thread:" + elsewhere + "#M2"); !errors.Is(err, handoff.Invalid) {
				t.Errorf("a thread of another repository: got %v, want invalid", err)
			}
			if _, err := s.tryClaim("thread:" + uri + "#M99"); name != "opencode" && !errors.Is(err, handoff.NotFound) {
				t.Errorf("a message that is not there: got %v, want not found", err)
			}
			if _, err := s.tryClaim("thread:" + uri); name != "opencode" && !errors.Is(err, handoff.Invalid) {
				t.Errorf("a thread without a message: got %v, want invalid", err)
			}
			own = s.as("worker", elsewhere)
			s.write("shop.go", "package shop // another tree\n")
			s.check("the own thread is of another repository", own.claim(command), handoff.VerdictStale, "another tree")
		})
	}
}
