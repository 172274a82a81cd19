package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/agent-handoff/handoff"
	"github.com/agent-handoff/handoff/internal/tool/printable"
	"github.com/agent-handoff/handoff/storage"
	"github.com/agent-handoff/handoff/workspace"
	"github.com/agent-handoff/handoff/workspace/news"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The URIs of resources.
const (
	newestURI      = "handoff://artifacts"
	newsURI        = "handoff://news"
	artifactPrefix = "handoff://artifacts/"
	bodySuffix     = "/body"
	sessionPrefix  = "handoff://sessions/"
)

// maxBody is the largest body that is a resource. A larger one is read in pages.
const maxBody = 1 << 20

// listedResources is how many artifacts the list of resources has.
const listedResources = 50

func artifactURI(id string) string { return artifactPrefix + id }

var newestResource = &sdk.Resource{URI: newestURI, Name: "newest", Description: "the newest artifacts of the workspace",
	MIMEType: "application/json"}

var newsResource = &sdk.Resource{URI: newsURI, Name: "news",
	Description: "what needs a person, what runs, and what was done in the last week", MIMEType: "application/json"}

func (c *client) addResources() {
	c.sdk.AddResource(newestResource, c.readResource)
	c.sdk.AddResource(newsResource, c.readResource)
	for _, t := range []*sdk.ResourceTemplate{
		{URITemplate: artifactPrefix + "{id}", Name: "artifact", Description: "metadata of an artifact",
			MIMEType: "application/json"},
		{URITemplate: artifactPrefix + "{id}" + bodySuffix, Name: "body", Description: "what an artifact published"},
		{URITemplate: sessionPrefix + "{id}", Name: "session", Description: "a session and its outputs",
			MIMEType: "application/json"},
	} {
		c.sdk.AddResourceTemplate(t, c.readResource)
	}
	c.sdk.AddReceivingMiddleware(c.listResources)
}

// listResources answers resources/list with the newest artifacts.
func (c *client) listResources(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		list, ok := r.(*sdk.ListResourcesRequest)
		if method != "resources/list" || !ok {
			return next(ctx, method, r)
		}
		if list.Params == nil {
			list.Params = &sdk.ListResourcesParams{}
		}
		answer := &sdk.ListResourcesResult{Resources: []*sdk.Resource{newestResource, newsResource}, Cacheable: uncached}
		w, err := c.workspaceOf(ctx, originOf(list), "")
		if err != nil {
			return answer, nil // a client that has no directory yet has no artifacts
		}
		page, err := w.List(ctx, workspace.ListOptions{Limit: listedResources, Cursor: list.Params.Cursor})
		if err != nil {
			return nil, err
		}
		if list.Params.Cursor != "" {
			answer.Resources = nil
		}
		for _, a := range page.Artifacts {
			answer.Resources = append(answer.Resources,
				&sdk.Resource{URI: artifactURI(a.ID), Name: printable.Line(a.Label()), Title: printable.Line(a.Title),
					MIMEType: "application/json"})
		}
		answer.NextCursor = page.Cursor
		return answer, nil
	}
}

func (c *client) readResource(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	w, err := c.workspaceOf(ctx, originOf(r), "")
	if err != nil {
		return nil, err
	}
	content, err := c.resource(ctx, w, r.Params.URI)
	if errors.Is(err, handoff.NotFound) {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	if err != nil {
		return nil, err
	}
	content.URI = r.Params.URI
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{content}}, nil
}

func (c *client) resource(ctx context.Context, w *workspace.Workspace, uri string) (*sdk.ResourceContents, error) {
	if uri == newestURI {
		page, err := w.List(ctx, workspace.ListOptions{Limit: listedResources})
		return jsonContents(shortPage(w, page), err)
	}
	if uri == newsURI {
		return c.news(ctx, w)
	}
	if id, ok := strings.CutPrefix(uri, sessionPrefix); ok {
		shown, err := w.Show(ctx, id, false)
		if err == nil && shown.Session == nil {
			err = handoff.E("read resource", uri, handoff.NotFound, nil)
		}
		return jsonContents(shown, err)
	}
	id, body := strings.CutSuffix(strings.TrimPrefix(uri, artifactPrefix), bodySuffix)
	if !handoff.IsArtifactID(id) {
		return nil, handoff.E("read resource", uri, handoff.NotFound, nil)
	}
	if body {
		return bodyContents(ctx, w, id)
	}
	shown, err := w.Show(ctx, id, false)
	return jsonContents(shown, err)
}

// news returns the news of a workspace. Its hints name tools.
func (c *client) news(ctx context.Context, w *workspace.Workspace) (*sdk.ResourceContents, error) {
	since := c.server.o.Now().AddDate(0, 0, -news.FirstDays).Format(time.RFC3339)
	r, err := w.News(c.server.o.Threads).Report(ctx, news.ReportOptions{Since: since})
	settling(r.Needs)
	return jsonContents(r, err)
}

func jsonContents(v any, err error) (*sdk.ResourceContents, error) {
	if err != nil {
		return nil, err
	}
	data, err := handoff.EncodeJSON(v)
	return &sdk.ResourceContents{MIMEType: "application/json", Text: string(data)}, err
}

func bodyContents(ctx context.Context, w *workspace.Workspace, id string) (*sdk.ResourceContents, error) {
	b, err := w.Read(ctx, id, workspace.ReadOptions{})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	page, err := b.Page(storage.Span{Limit: maxBody, Bytes: true})
	if err != nil {
		return nil, err
	}
	if page.Next > 0 {
		return nil, handoff.E("read resource", id, handoff.Invalid,
			fmt.Errorf("has %d bytes, more than %d", page.Total, maxBody),
			handoff.Suggest("read it in pages", handoff.ActionRead, id))
	}
	content := &sdk.ResourceContents{MIMEType: b.Artifact.MediaType, Blob: page.Base64}
	if page.Content != nil {
		content.Text = *page.Content
	} else if content.Blob == nil {
		content.Blob = bytes.Clone([]byte{})
	}
	return content, nil
}
