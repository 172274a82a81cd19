// Package page writes threads as pages of markdown or as JSON: the head with
// metadata, state and subagents, and the messages.
//
//	set := thread.NewSet(all.Drivers(), os.Getenv, home)
//	uri, err := thread.ParseURI("codex/019c871c-b1f9-7f60-9c4f-87ed09f13592")
//	err = page.Write(ctx, os.Stdout, set, uri, page.Options{})
//
// Other tools read these pages. The names and the order of the keys in their heads
// do not change.
package page
