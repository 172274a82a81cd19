package workspace

import "context"

// ResolveAll resolves several refs. It is exported until every command's rules
// are in this package.
func (w *Workspace) ResolveAll(ctx context.Context, refs []string) ([]string, error) {
	return w.resolveAll(ctx, refs)
}

// RenderSession renders the manifest of a session. See ResolveAll.
func (w *Workspace) RenderSession(ctx context.Context, id string) []string {
	return w.renderSession(ctx, id)
}

// Inside returns a path as typed relative to root. See ResolveAll.
func (w *Workspace) Inside(root, name string) (string, error) { return w.inside(root, name) }
