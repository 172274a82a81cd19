package web

import "testing"

// A page that waits for something does not hold up others for good, and one that did not get a place
// gives none back.
func TestTurns(t *testing.T) {
	places := make(turns, 1)
	first := places.take()
	late := places.take() // after turnWait
	late()
	if len(places) != 1 {
		t.Fatalf("%d of 1 places are taken while a page is made", len(places))
	}
	first()
	if len(places) != 0 {
		t.Fatalf("%d places are taken after all pages were made", len(places))
	}
}
