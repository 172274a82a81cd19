package userdir

import (
	"cmp"
	"os/user"
)

// Name returns the user that the environment or the system names.
func Name(getenv func(string) string) string {
	if name := cmp.Or(getenv("USER"), getenv("USERNAME")); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user"
}
