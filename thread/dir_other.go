//go:build !linux

package thread

// appendEntries appends the entries of the directory. Those before an error are
// appended too.
func (d openedDir) appendEntries(list []entry) ([]entry, error) {
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		list = append(list, entry{e.Name(), e.Type()})
	}
	return list, err
}
