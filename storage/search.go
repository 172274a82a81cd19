package storage

// Snippet are a Snippet without its marks. Joined, the pieces are its text; every
// second piece was found.
type Snippet struct {
	Field  string   `json:"field"`
	Text   string   `json:"text"`
	Pieces []string `json:"pieces"`
}
