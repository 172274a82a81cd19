//go:build !linux

package sqlite

func syncDeleted(string) func() { return func() {} }
