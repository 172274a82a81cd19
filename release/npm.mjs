#!/usr/bin/env node
// Starts the program of the package for this platform, under the name of this file.
import { spawn } from "node:child_process"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"

const name = basename(process.argv[1], ".js")
const { platform, arch } = process
let program
try {
  const manifest = createRequire(import.meta.url).resolve(`agent-handoff-${platform}-${arch}/package.json`)
  program = join(dirname(manifest), "bin", "agent-handoff")
} catch {
  fail(`the npm package agent-handoff-${platform}-${arch} is not installed. There are packages for linux and darwin, ` +
    "x64 and arm64. If this is one of them, install again without --omit=optional. On Windows, use WSL.")
}

const child = spawn(program, process.argv.slice(2), { argv0: name, stdio: "inherit" })
const terminal = [process.stdin, process.stdout, process.stderr].some((s) => s.isTTY)
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    // A terminal sends these to the program, too.
    if (!(terminal && (signal === "SIGINT" || signal === "SIGQUIT"))) child.kill(signal)
  })
}
child.on("error", (error) => fail(`${program} can't be started: ${error.message}`))
child.on("exit", (code, signal) => {
  if (!signal) process.exit(code)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})

function fail(reason) {
  console.error(`${name}: ${reason}`)
  process.exit(7)
}
