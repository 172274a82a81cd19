package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func (c *client) subscribe(ctx context.Context, r *sdk.SubscribeRequest) error {
	w, err := c.workspaceOf(ctx, originOf(r), "")
	state := ""
	if err == nil {
		state = artifactState(ctx, w, r.Params.URI)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribed[r.Params.URI] = state
	return err
}

// artifactState returns what the resource of an artifact shows, "" for other resources.
func artifactState(ctx context.Context, w *workspace.Workspace, uri string) string {
	id, ok := strings.CutPrefix(uri, artifactPrefix)
	if !ok {
		return ""
	}
	a, err := w.Hub().Artifact(ctx, id)
	if err != nil { // it is in another workspace
		return ""
	}
	b, _ := json.Marshal(a) // can't fail: it was read from JSON
	return string(b)
}

// changedArtifacts returns the URIs of the artifacts that the client has subscribed to
// and that have changed, such as those with an input that became stale.
func (c *client) changedArtifacts(ctx context.Context, w *workspace.Workspace) (uris []string) {
	c.mu.Lock()
	subscribed := maps.Clone(c.subscribed)
	c.mu.Unlock()
	for uri, before := range subscribed {
		now := artifactState(ctx, w, uri)
		if now == "" || now == before {
			continue
		}
		uris = append(uris, uri)
		c.mu.Lock()
		if _, still := c.subscribed[uri]; still {
			c.subscribed[uri] = now
		}
		c.mu.Unlock()
	}
	return uris
}

func (c *client) unsubscribe(_ context.Context, r *sdk.UnsubscribeRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribed, r.Params.URI)
	return nil
}

// listen watches the workspace for a client that asks for notifications alone.
func (c *client) listen(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if listen, ok := r.(*sdk.SubscriptionsListenRequest); ok {
			if _, err := c.workspaceOf(ctx, originOf(listen), ""); err != nil {
				return nil, err
			}
		}
		result, err := next(ctx, method, r)
		return result, encodable(err)
	}
}

// encodable returns an error whose data is JSON: the SDK (1.8.0) writes the URI of a
// resource that does not exist as a literal of Go, and can't encode that.
func encodable(err error) error {
	var e *jsonrpc.Error
	if errors.As(err, &e) && len(e.Data) > 0 && !json.Valid(e.Data) {
		return &jsonrpc.Error{Code: e.Code, Message: e.Message}
	}
	return err
}

// watch notifies the client when the log of a workspace that it uses grows, until
// the client disconnects. If the log can't be read, the next call watches it again.
func (c *client) watch(session *sdk.ServerSession, w *workspace.Workspace) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if session == nil || !c.lasting || c.watched[w.Root()] {
		return
	}
	c.watched[w.Root()] = true
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_ = session.Wait() // how the session ended does not matter here
		cancel()
	}()
	go func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.watched, w.Root())
		}()
		newest, err := w.Hub().Newest(ctx)
		if err != nil {
			return // the client's own calls report it
		}
		for r, err := range w.Hub().Watch(ctx, newest) {
			if err != nil {
				return
			}
			c.notify(ctx, w, r)
		}
	}()
}

// notify tells the client about a new record. Several are reported as one change
// of the list.
func (c *client) notify(ctx context.Context, w *workspace.Workspace, r handoff.Record) {
	if _, ok := r.Fact.(*handoff.ArtifactPublished); ok {
		c.sdk.AddResource(newestResource, c.readResource) // sends that the list has changed
	}
	for _, uri := range append(c.changedArtifacts(ctx, w), changed(r)...) {
		c.mu.Lock()
		_, wanted := c.subscribed[uri]
		c.mu.Unlock()
		if wanted {
			limited, cancel := context.WithTimeout(ctx, 5*time.Second)
			_ = c.sdk.ResourceUpdated(limited, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // a client that is gone
			cancel()
		}
	}
}

// changed returns the URIs of the resources that a record changes, besides artifacts.
func changed(r handoff.Record) []string {
	uris := []string{}
	add := func(prefix string, ids ...string) {
		for _, id := range ids {
			if id != "" {
				uris = append(uris, prefix+id)
			}
		}
	}
	add(sessionPrefix, r.Producer.Session, r.Producer.RunID)
	switch f := r.Fact.(type) {
	case *handoff.ArtifactPublished:
		uris = append(uris, newestURI)
	case *handoff.ArtifactWithdrawn:
		uris = append(uris, newestURI)
	case *handoff.SessionOpened:
		add(sessionPrefix, f.SessionID)
	case *handoff.SessionClosed:
		add(sessionPrefix, f.SessionID)
	case *handoff.SessionNoted:
		add(sessionPrefix, f.SessionID)
	}
	return uris
}
