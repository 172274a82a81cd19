// Command agent-handoff is handoff under the name of its distribution, for the
// files that agent programs read: another program may be called handoff.
package main

import (
	"os"

	"github.com/agent-handoff/handoff/cmd/internal/program"
)

func main() { os.Exit(program.Main()) }
