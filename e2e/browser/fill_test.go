package browser

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A story is what the tests put into a workspace: a design, a patch that was made
// from an earlier revision of it, and what came after.
type story struct {
	session, running           string
	design1, design2           string
	patch1, patch2, report     string
	table, data, log, competes string
}

// pages are the pages that are looked at, by the names of their pictures.
func (s story) pages() map[string]string {
	return map[string]string{
		"now": "/", "sessions": "/sessions", "session": "/sessions/" + s.session, "running": "/sessions/" + s.running,
		"file": "/sessions/" + s.session + "/files/notes/plan.md", "artifact": "/artifacts/" +
			s.design2, "stale": "/artifacts/" + s.patch1,
		"diff": "/artifacts/" + s.design2 + "?diff=" + s.design1, "patch": "/artifacts/" + s.patch2, "split": "/artifacts/" +
			s.design2 + "?diff=" + s.design1 + "&view=split", "table": "/artifacts/" +
			s.table,
		"json": "/artifacts/" + s.data, "log": "/artifacts/" + s.log, "channels": "/channels", "channel": "/channels/design",
		"search": "/search?q=retries", "check": "/check", "compare": "/compare", "graph": "/graph?focus=" +
			s.patch2, "pipelines": "/pipelines", "pipeline": "/pipelines/42",
		"threads": "/threads", "thread": "/threads/claude/" + conversation, "subagent": "/threads/claude/" + conversation +
			"/scout1",
		"artifacts": "/artifacts?channel=verification", "lines": "/artifacts/" + s.table + "?lines",
		"cost": "/cost", "models": "/cost?by=model", "week": "/cost?by=agent&since=7d",
		"hidden": "/cost?by=model&hide=claude-opus-4-1-20250805", "files": "/files?since=7d",
		"why": "/why?of=main.go", "found": "/search?q=timeouts", "titles": "/search?q=pay&kind=titles",
		"beside": "/threads/claude/" + conversation + "?list=text%3Dpay", "missing": "/artifacts/no-such-thing",
	}
}

const design = `# Retries

Calls to the payment service fail for a second at each deploy. We retry them.

## Rules

| case | retry | wait |
|---|---|---|
| connection refused | yes | 100 ms, then twice as long |
| timeout | **no** | the payment may have been made |

- [x] idempotency keys
- [ ] alert when more than 1 % of calls are retried

` + "```go\nfor i := range attempts {\n\tif err = call(ctx); err == nil {\n\t\treturn nil // done\n\t}\n}\n```\n"

const patch = `diff --git a/pay/client.go b/pay/client.go
--- a/pay/client.go
+++ b/pay/client.go
@@ -10,6 +10,9 @@ func (c *Client) Pay(ctx context.Context) error {
 	req := c.request()
-	return c.do(ctx, req)
+	return retry(ctx, 3, func() error {
+		return c.do(ctx, req)
+	})
 }
`

// fill runs the commands of several agents.
func fill(w *workspace) story {
	w.t.Helper()
	var s story
	put := func(agent, title, summary, channel, body string, more ...string) string {
		args := append([]string{"publish", "-", "--agent", agent, "--channel", channel, "--title", title, "--summary",
			summary}, more...)
		return w.id(body, args...)
	}
	must(w.t, os.WriteFile(filepath.Join(w.dir, "main.go"), []byte("package main\n"), 0o644))
	s.session = w.id("", "session", "open", "--agent", "alex", "--title", "Alex the Facilitator", "--workflow",
		"intake-app", "--user", "Bryan")
	folder := filepath.Join(w.dir, "docs", "agent-outputs", s.session)
	for name, text := range map[string]string{"requirements.md": "# Requirements\n\nPayments survive a deploy.\n",
		"notes/plan.md": design, "notes/manifest.json": `{"name": "a package"}`} {
		must(w.t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		must(w.t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	w.run("", "session", "add", "requirements.md", "--type", "document", "--description",
		"What the payment service must do", "--session", s.session)
	w.run("", "session", "close", "--session", s.session, "--status", "completed")
	must(w.t, os.MkdirAll(filepath.Join(filepath.Dir(folder), "7d1f6f3e-0a5c-4a52-9a0c-5a3a4f0c1b2d"), 0o755))
	s.running = w.id("", "session", "open", "--agent", "casey", "--title", "Casey", "--workflow", "deep-dive-app",
		"--link", s.session, "--expect", "report.md")
	w.env = append(w.env, "HANDOFF_SESSION="+s.running)
	w.run("", "run", "--agent", "scout", "--title", "Scout", "--", "true")
	w.env = w.env[:len(w.env)-1]
	s.design1 = put("architect", "Retry failed payments", "Retry three times, also after a timeout", "design",
		strings.ReplaceAll(design, "**no** | the payment may have been made", "yes | 1 s"))
	s.patch1 = put("builder", "Add retries to the payment client", "Three attempts for each call", "patch", patch,
		"--kind", "patch", "--from", s.design1)
	s.design2 = put("architect", "Retry failed payments, except after a timeout",
		"A timeout may hide a payment that was made", "design", design, "--replaces", s.design1)
	s.patch2 = put("builder", "Add retries, not after a timeout", "Timeouts are returned to the caller", "patch", patch,
		"--kind", "patch", "--from", s.design2)
	w.run("", "label", s.patch2, "chosen")
	s.report = put("reviewer", "All 214 tests pass", "The deploy was simulated ten times", "verification",
		"ok  pay 0.8s\n", "--from", s.patch2)
	s.table = put("reviewer", "Latency by retry", "", "verification",
		"attempt,calls,p50 ms,p95 ms\n1,9812,41,88\n2,171,139,240\n3,17,402,731\n", "--filename", "latency.csv")
	w.run("", "review", s.table, "--lines", "2-3", "-m", "Under which load?", "--agent", "lead")
	s.data = put("builder", "Settings of the client", "", "handoff",
		`{"attempts": 3, "wait": {"first": "100ms", "factor": 2}, "retry": ["refused", "reset"], "enabled": true}`,
		"--filename", "settings.json")
	s.log = put("reviewer", "Log of the deploy", "", "verification",
		"\x1b[32mok\x1b[0m   deploy started\n\x1b[33mwarn\x1b[0m retried pay/9812\n\x1b[31merror\x1b[0m none lost <b>\n",
		"--filename", "deploy.log")
	w.run("", "publish", "main.go", "--channel", "patch", "--title", "Entry point", "--session", s.running, "--thread",
		"agents://claude/"+conversation)
	for _, stage := range []string{"plan", "implement", "test"} {
		w.run(w.run("", "pipeline", "schema", stage, "--example"), "pipeline", "put", "42", stage, "-")
	}
	converse(w)
	s.competes = put("lead", "Alternative: a queue in front of the service", "", "design", "# A queue\n", "--replaces",
		s.design1)
	return s
}
