package cli

import (
	"regexp"
	"strings"
	"sync"
)

// shortID is the least number of characters of a short ID.
const shortID = 8

// shortIDs returns IDs in their shortest forms that are refs and differ from each
// other: the last characters of an artifact's ID, which begins with a time, and the
// first ones of a session's. An ID of another form stays.
func shortIDs(ids []string) []string {
	for n := shortID; ; n++ {
		short := make([]string, len(ids))
		from := map[string]string{}
		unique := true
		for i, id := range ids {
			short[i] = part(id, n)
			if other, taken := from[short[i]]; taken && other != id {
				unique = false
			}
			from[short[i]] = id
		}
		if unique {
			return short
		}
	}
}

// Short returns an ID as a terminal shows it, and anything else unchanged.
func (a *App) Short(id string) string {
	if !a.Terminal {
		return id
	}
	return part(id, shortID)
}

// part returns the n characters of an ID that distinguish it, or all of it if it
// has no more.
func part(id string, n int) string {
	if random, ok := strings.CutPrefix(id, "art_"); ok && n < len(random) {
		return random[len(random)-n:]
	}
	if uuid().MatchString(id) && n < len(id) {
		return id[:n]
	}
	return id
}

var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
})
