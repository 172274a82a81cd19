package cli

import "strings"

// shortID is the least number of characters of a short ID.
const shortID = 8

// ShortIDs returns IDs of artifacts in their shortest forms that are refs and
// differ from each other: their last characters, because an ID begins with a time.
func ShortIDs(ids []string) []string {
	for n := shortID; ; n++ {
		short := make([]string, len(ids))
		from := map[string]string{}
		unique := true
		for i, id := range ids {
			short[i] = last(id, n)
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

// last returns the last n characters of an ID, or all of it if it has no more.
func last(id string, n int) string {
	part, ok := strings.CutPrefix(id, "art_")
	if !ok || n >= len(part) {
		return id
	}
	return part[len(part)-n:]
}
