package guard

import (
	"strings"
	"testing"
)

// reviewPages is the package of the pages that record reviews.
const reviewPages = "cmd/internal/reviewweb"

// TestViewerWritesNothing checks that only the command review --web imports the pages that
// record reviews: not the viewer, and not the file of the command serve.
func TestViewerWritesNothing(t *testing.T) {
	importing := map[string]bool{}
	for _, s := range sources(t) {
		for _, i := range s.file.Imports {
			if strings.Trim(i.Path.Value, `"`) == module+"/"+reviewPages && !s.isTest() {
				importing[s.name] = true
			}
		}
		viewer := s.pkg == "cmd/internal/web" || strings.HasPrefix(s.name, "cmd/internal/program/serve")
		if text := string(s.text); viewer && !s.isTest() && (strings.Contains(text, "serveReviews") ||
			strings.Contains(text, "http.MethodPost") || strings.Contains(text, `"POST `)) {
			t.Errorf("%s starts what records reviews, or answers POST", s.name)
		}
	}
	if want := "cmd/internal/program/review_web.go"; len(importing) != 1 || !importing[want] {
		t.Errorf("%s is imported by %v, want %s only", reviewPages, importing, want)
	}
}
