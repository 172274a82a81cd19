package fold

import "strconv"

// countRevision gives an artifact with a name its number among the revisions of
// the name. Without a name, it has its number in its family from foldReplaces.
//
// A number never changes: if two families are joined, a number may belong to
// several artifacts of the result.
func countRevision(k Keeper, a *ArtifactState) error {
	if a.Published.Name == "" {
		return nil
	}
	n, err := count(k, countSpace, nameKey(a.Published), 0)
	if err != nil {
		return err
	}
	a.Predecessors = n
	if n > 0 {
		if a.Before, err = k.Pointer(newestSpace, nameKey(a.Published)); err != nil {
			return err
		}
	}
	if err := k.PutPointer(newestSpace, nameKey(a.Published), a.ID); err != nil {
		return err
	}
	return k.PutPointer(countSpace, nameKey(a.Published), strconv.Itoa(n+1))
}

// count returns the number in a pointer, and missing if there is none.
func count(s Store, space, key string, missing int) (int, error) {
	text, err := s.Pointer(space, key)
	if err != nil || text == "" {
		return missing, err
	}
	return strconv.Atoi(text)
}
