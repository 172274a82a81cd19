// Command handoff gives the outputs of agents short references and finds them
// again.
package main

import (
	"os"

	"github.com/agent-handoff/handoff/cmd/internal/program"
)

func main() { os.Exit(program.Main()) }
