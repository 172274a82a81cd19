package web

// Patterns returns the patterns of all pages.
func Patterns() (list []string) {
	for _, r := range new(Server).routes() {
		list = append(list, r.pattern)
	}
	return list
}
