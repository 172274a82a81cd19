package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A WaitInput has the arguments of artifact_wait.
type WaitInput struct {
	Common
	FilterInput
	After   *int64 `json:"after,omitempty" jsonschema:"position that an earlier wait returned; only newer ones"`
	Seconds int    `json:"seconds,omitempty" jsonschema:"default and maximum 50"`
}

// maxWait is how long a call waits. Codex ends a call after 60 seconds by
// default, the least of the clients whose limit is known.
const maxWait = 50 * time.Second

// progressEvery is how often a waiting call reports that it is alive.
const progressEvery = 5 * time.Second

type waitingData struct {
	Waiting bool        `json:"waiting"`
	After   handoff.Seq `json:"after"`
}

var artifactWait = tool[WaitInput]{
	name: "artifact_wait",
	description: "Wait until another agent publishes a matching artifact, and return it; one that exists is returned at once. " +
		"If it returns waiting, call it again with after. Do not poll.",
	reads: true,
	do: func(ctx context.Context, c *call, in WaitInput) (answer, error) {
		after, err := c.Hub().Newest(ctx)
		if err != nil {
			return answer{}, err
		}
		o := workspace.WatchOptions{Filter: in.filter()}
		if in.After != nil {
			after = handoff.Seq(*in.After)
			o.After = strconv.FormatInt(*in.After, 10)
		}
		limit := maxWait
		if in.Seconds > 0 {
			limit = min(limit, time.Duration(in.Seconds)*time.Second)
		}
		waiting, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		defer c.reportProgress(waiting, "waiting for an artifact")()
		a, err := c.Wait(waiting, o)
		switch {
		case err == nil:
			return answer{data: a, text: line(a), links: links(a)}, nil
		case ctx.Err() == nil && errors.Is(waiting.Err(), context.DeadlineExceeded):
			return answer{data: waitingData{true, after}, text: fmt.Sprintf("nothing yet; call again with after: %d", after)}, nil
		}
		return answer{}, err
	},
}

// reportProgress tells the client, if it asked, that the call is running, until
// ctx ends or the returned function is called.
func (c *call) reportProgress(ctx context.Context, message string) (stop func()) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A client that is gone is noticed by the call itself.
				_ = c.request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message})
			}
		}
	}()
	return func() { cancel(); <-done }
}
