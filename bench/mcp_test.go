package bench

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// echoServer makes this program a server with one tool on the bare SDK.
const echoServer = "HANDOFF_BENCH_ECHO"

func serveEcho() error {
	server := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(r.Params.Arguments)}},
				StructuredContent: r.Params.Arguments}, nil
		})
	return server.Run(context.Background(), &sdk.StdioTransport{})
}

// BenchmarkMCPGet compares artifact_get among 100,000 records with a tool on the
// bare SDK that returns its arguments: both as processes on standard input and
// output, with 8 callers at once.
func BenchmarkMCPGet(b *testing.B) {
	const readers, calls = 8, 20
	c := needCorpus(b)
	program, _ := programs(b)
	self, err := os.Executable()
	must(b, err)
	ours := connect(b, c.dir, []string{"HOME=" + c.dir}, program, "mcp")
	echo := connect(b, c.dir, []string{echoServer + "=1"}, self)
	round := func(s *sdk.ClientSession, tool string) time.Duration {
		times := make([]time.Duration, readers*calls)
		var all sync.WaitGroup
		for n := range readers {
			all.Go(func() {
				for i := range calls {
					id := c.ids[(n*7919+i*104729)%len(c.ids)]
					times[n*calls+i] = timed(func() {
						answer, err := s.CallTool(context.Background(),
							&sdk.CallToolParams{Name: tool, Arguments: map[string]string{"ref": id}})
						if err != nil || answer.IsError {
							b.Errorf("%s %s: %v %v", tool, id, err, answer)
						}
					})
				}
			})
		}
		all.Wait()
		return median(times)
	}
	round(ours, "artifact_get") // opens the workspace
	var os, es []time.Duration
	for b.Loop() {
		os, es = append(os, round(ours, "artifact_get")), append(es, round(echo, "echo"))
	}
	o, e := median(os), median(es)
	b.ReportMetric(0, "ns/op") // the sum of both is not a result
	b.ReportMetric(float64(o.Microseconds()), "µs/get")
	b.ReportMetric(float64(e.Microseconds()), "µs/echo")
	b.ReportMetric(float64(o)/float64(e), "ratio")
}

// connect starts a server and returns its client.
func connect(b *testing.B, dir string, env []string, program string, args ...string) *sdk.ClientSession {
	command := exec.Command(program, args...)
	command.Dir, command.Env = dir, env
	s, err := sdk.NewClient(&sdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(b.Context(),
		&sdk.CommandTransport{Command: command}, nil)
	must(b, err)
	b.Cleanup(func() { s.Close() })
	return s
}
