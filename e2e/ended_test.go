package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-handoff/handoff/e2e/model"
)

// hooked are the programs whose hooks or plugins report to handoff.
var hooked = []client{claude, codex, gemini, qwen, opencode, pi}

// A node is a unit of work with its parts.
type node struct {
	Work struct {
		ID, Kind, Status, Reason, Thread string
		Process                          struct{ PID int }
	}
	Children []node
}

// units returns the recorded work, parts after what they are part of.
func units(h *home) []node {
	h.t.Helper()
	var tree struct{ Work []node }
	h.handoff(&tree, "work", "list", "--json")
	var all []node
	for todo := tree.Work; len(todo) > 0; todo = todo[1:] {
		all, todo = append(all, todo[0]), append(todo, todo[0].Children...)
	}
	return all
}

// now returns the threads and sessions that are shown as running.
func now(h *home) []string {
	h.t.Helper()
	var status struct {
		Sessions []struct{ ID, Status string }
		Threads  []struct {
			URI   string
			State state
		}
	}
	h.handoff(&status, "status", "--json")
	var running []string
	for _, s := range status.Sessions {
		if s.Status == "running" {
			running = append(running, s.ID)
		}
	}
	for _, t := range status.Threads {
		running = append(running, t.URI)
	}
	return running
}

// TestKilled kills each program during a command that it runs. While it lives, its work
// is running; afterwards, nothing is.
func TestKilled(t *testing.T) {
	for _, c := range hooked {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			s := h.serve(model.Script{"wait": {{Text: "I wait.", Calls: []model.Call{
				c.shell("handoff publish README.md --channel design && touch started && sleep 600")}}}})
			h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
			c.configure(h, s.URL)
			kill := h.start(c.env(s.URL), c.prompt("[[wait]] Wait.")...)
			for from := time.Now(); ; time.Sleep(100 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(h.work, "started")); err == nil {
					break
				}
				if time.Since(from) > limit {
					t.Fatal("the command was not run")
				}
			}
			before := units(h)
			if len(before) == 0 {
				t.Fatal("no work is recorded")
			}
			for _, u := range before {
				if u.Work.Status != "running" || u.Work.Process.PID == 0 {
					t.Errorf("%s %s: %s (%s), process %d, want running with a process", u.Work.Kind, u.Work.ID, u.Work.Status,
						u.Work.Reason, u.Work.Process.PID)
				}
			}
			kill()
			for _, u := range units(h) {
				if u.Work.Status != "failed" || u.Work.Reason != "process gone" {
					t.Errorf("%s %s: %s (%s), want failed (process gone)", u.Work.Kind, u.Work.ID, u.Work.Status, u.Work.Reason)
				}
			}
			if running := now(h); len(running) > 0 {
				t.Errorf("shown as running: %v", running)
			}
			var th struct{ State state }
			h.handoff(&th, "thread", before[0].Work.Thread, "--json")
			if th.State.Status == "running" {
				t.Errorf("%s is %s", before[0].Work.Thread, th.State.Status)
			}
		})
	}
}

// TestRefused answers the first request of each program with status 400: its prompt has
// failed, and nothing is running.
func TestRefused(t *testing.T) {
	for _, c := range hooked {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newHome(t)
			s := h.serve(model.Script{"fail": {{Fail: 400}}})
			h.must(nil, "handoff", "init", "--agent", c.name, "--allow")
			h.must(nil, "sh", "-c", "echo x | handoff publish - --channel design --title x")
			c.configure(h, s.URL)
			_, _ = h.run(c.env(s.URL), c.prompt("[[fail]] Fail.")...)
			all := units(h)
			for _, u := range all {
				if u.Work.Status == "running" || u.Work.Kind == "prompt" && u.Work.Status != "failed" {
					t.Errorf("%s %s: %s (%s)", u.Work.Kind, u.Work.ID, u.Work.Status, u.Work.Reason)
				}
			}
			if len(all) == 0 {
				t.Error("no work is recorded")
			}
			if running := now(h); len(running) > 0 {
				t.Errorf("shown as running: %s", strings.Join(running, ", "))
			}
		})
	}
}

// TestNoWork runs a command of Claude Code that starts no thread.
func TestNoWork(t *testing.T) {
	h := newHome(t)
	s := h.serve(model.Script{})
	h.must(nil, "handoff", "init", "--agent", claude.name, "--allow")
	h.must(nil, "sh", "-c", "echo x | handoff publish - --channel design --title x")
	h.must(claude.env(s.URL), claude.list...)
	if all := units(h); len(all) > 0 {
		t.Errorf("recorded work: %+v", all)
	}
}
