package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// piTypes are the parts of the extension that only TypeScript has.
var piTypes = regexp.MustCompile(`, type ChildProcess|(?m:^type .*$)|private |<number, Waiting>|\?: Error|` +
	`: any\[\]|: Promise<any>|: Server \| undefined|: (any|string|number|unknown|Error|ChildProcess)\b|\b!`)

// A fakeServer is an MCP server with the tool "echo", which notes its start, answers with
// the number of its process, and ends without an answer if that is asked for.
const fakeServer = `#!/usr/bin/env node
import { createInterface } from "node:readline"
import { appendFileSync } from "node:fs"
if (process.argv[2] === "mcp") {
  appendFileSync(process.env.PI_TEST_STARTS, "start\n")
  createInterface({ input: process.stdin }).on("line", (line) => {
    const m = JSON.parse(line)
    if (m.params?.arguments?.end) process.exit(1)
    const result = m.method === "tools/list" ? { tools: [{ name: "echo" }] } : { content: [{ type: "text", text: "echo" }] }
    if (m.id) console.log(JSON.stringify({ jsonrpc: "2.0", id: m.id, result }))
  }).on("close", () => appendFileSync(process.env.PI_TEST_STARTS, "close\n"))
}
`

const fakePi = `import extension from "./extension.mjs"
import { readFileSync } from "node:fs"
const on = {}, tools = {}
extension({ on: (name, f) => (on[name] = f), registerTool: (t) => (tools[t.name] = t), getAllTools: () => [] })
const context = { cwd: process.cwd() }
const call = (args) => tools.echo.execute("c", args).then((r) => r.content[0].text, (e) => e.message)
const answer = (args) => Promise.race([call(args), new Promise((r) => setTimeout(() => r("no answer"), 10000))])
setInterval(() => {}, 1000) // the servers do not keep this process alive
await on.session_start({}, context)
console.log(await answer({}))
console.log(await answer({ end: true }))
console.log(await answer({}))
await on.session_start({}, context)
console.log(await answer({}))
const notes = () => readFileSync(process.env.PI_TEST_STARTS, "utf8")
for (let i = 0; i < 1000 && !notes().includes("close"); i++) await new Promise((r) => setTimeout(r, 20))
console.log(notes().trim().split("\n").sort().join(" "))
process.exit(0)
`

// TestPiServer ends the server of the extension of pi during a call: the call fails, and
// the next one starts another server. One that is not needed any more is ended.
func TestPiServer(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	dir := t.TempDir()
	server := filepath.Join(dir, "server.mjs")
	for name, content := range map[string]string{"server.mjs": fakeServer, "pi.mjs": fakePi,
		"extension.mjs": piTypes.ReplaceAllString(script(piExtension, server), "")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command(node, "pi.mjs")
	c.Dir, c.Env = dir, append(os.Environ(), "PI_TEST_STARTS="+filepath.Join(dir, "starts"))
	out, err := c.CombinedOutput()
	if got, want := strings.TrimSpace(string(out)),
		"echo\nhandoff ended\necho\necho\nclose start start start"; err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}
