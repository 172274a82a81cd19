//go:build !linux

package testdir

// inMemory returns "": there is no directory in memory that can be relied on.
func inMemory() string { return "" }
