package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A WaitInput has the arguments of artifact_wait.
type WaitInput struct {
	Common
	FilterInput
	After    position `json:"after,omitempty" jsonschema:"only newer than this ref or position, or now"`
	Refs     []string `json:"refs,omitempty" jsonschema:"wait for all of these"`
	Any      bool     `json:"any,omitempty" jsonschema:"or for one"`
	Count    int      `json:"count,omitempty" jsonschema:"of matching artifacts"`
	Reviewed bool     `json:"reviewed,omitempty" jsonschema:"and for a review of each"`
	Seconds  int      `json:"seconds,omitempty" jsonschema:"default and maximum 50"`
}

// A position is where a wait starts: a ref, a sequence number or now. A number is
// also accepted as one in JSON.
type position string

func (p *position) UnmarshalJSON(b []byte) error {
	var n handoff.Seq
	if json.Unmarshal(b, &n) == nil {
		*p = position(strconv.FormatInt(int64(n), 10))
		return nil
	}
	return json.Unmarshal(b, (*string)(p))
}

// maxWait is how long a call waits. Codex ends a call after 60 seconds by
// default, the least of the clients whose limit is known.
const maxWait = 50 * time.Second

// progressEvery is how often a waiting call reports that it is alive.
const progressEvery = 5 * time.Second

type waitingData struct {
	Waiting   bool               `json:"waiting"`
	After     position           `json:"after"`
	Missing   []string           `json:"missing,omitempty"`
	Artifacts []handoff.Artifact `json:"artifacts,omitempty"` // that are there
}

var artifactWait = tool[WaitInput]{
	name:   "artifact_wait",
	loaded: true,
	description: "Wait until an agent publishes a matching artifact, and return it; at once if there is one. " +
		"If it returns waiting, call it again with after. Do not poll.",
	reads: true,
	output: []output{{handoff.Artifact{}, artifactMembers},
		{waitingData{}, []string{"waiting", "after", "missing", "artifacts"}}},
	do: func(ctx context.Context, c *call, in WaitInput) (answer, error) {
		if in.Seconds < 0 {
			return answer{}, handoff.E("wait", strconv.Itoa(in.Seconds), handoff.Invalid, errors.New("seconds is negative"),
				handoff.Advice("leave seconds out, or set it to 1 to 50"))
		}
		start, err := c.Store().Position(ctx, string(in.After))
		if err != nil {
			return answer{}, err
		}
		again := position(strconv.FormatInt(int64(start), 10)) // then what is published between two calls counts
		if in.After != "" {
			in.After = again
		}
		limit := maxWait
		if in.Seconds > 0 {
			limit = time.Duration(min(in.Seconds, int(maxWait/time.Second))) * time.Second
		}
		waiting := handoff.LimitWaits(ctx, limit)
		defer c.reportProgress(waiting, "waiting for an artifact")()
		if len(in.Refs) > 0 || in.Count != 0 || in.Reviewed || in.Any {
			return c.waitAll(waiting, in, again)
		}
		a, err := c.Wait(waiting, workspace.WatchOptions{Filter: in.filter(), After: string(in.After)})
		switch {
		case err == nil:
			return answer{data: a, text: described(c.Workspace, a), links: links(a)}, nil
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			data := waitingData{Waiting: true, After: again}
			return answer{data: data, text: "nothing yet; call again with after: " + string(again)}, nil
		}
		return answer{}, err
	},
}

// waitAll waits for several artifacts until ctx ends.
func (c *call) waitAll(ctx context.Context, in WaitInput, again position) (answer, error) {
	if in.After != "" {
		return answer{}, handoff.E("wait", "", handoff.Invalid, errors.New("after is for one artifact"),
			handoff.Advice("leave out after, or refs, count, any and reviewed"))
	}
	b := workspace.Barrier{Filter: in.filter(), Refs: in.Refs, Any: in.Any, Count: in.Count, Reviewed: in.Reviewed}
	if len(b.Refs) == 0 && b.Count == 0 {
		b.Count = 1
	}
	there, missing, err := b.Wait(ctx, c.Workspace)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return answer{}, err
	}
	data := waitingData{Waiting: err != nil, After: again, Missing: missing, Artifacts: there}
	text := lines(c.Workspace, there)
	if data.Waiting {
		text = strings.TrimSpace(text + "\nmissing: " + strings.Join(missing, ", ") + "; call again with the same arguments")
	}
	return answer{data: data, text: text}, nil
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
				_ = c.request.Session.NotifyProgress(ctx,
					&sdk.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message})
			}
		}
	}()
	return func() { cancel(); <-done }
}
