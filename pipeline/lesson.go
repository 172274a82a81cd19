package pipeline

// A Lesson is a known failure and its mitigation.
type Lesson struct {
	Date       string `yaml:"date" json:"date"` // 2006-01-02
	Issue      string `yaml:"issue" json:"issue"`
	Pattern    string `yaml:"pattern" json:"pattern"`
	Frequency  int    `yaml:"frequency" json:"frequency"`
	Mitigation string `yaml:"mitigation" json:"mitigation"`

	// Issues are all issues in which it occurred, if there are several; Issue is
	// the last one.
	Issues []string `yaml:"issues,omitempty" json:"issues,omitempty"`

	// Source is how the file that it was read from has it, with comments and further fields;
	// nil for a new lesson.
	Source any `yaml:"-" json:"-"`
}

// A LessonMatch is a lesson whose pattern resembles a failure.
type LessonMatch struct {
	Lesson
	Score float64 `json:"score"` // the fraction of the pattern's words found in the failure
}
