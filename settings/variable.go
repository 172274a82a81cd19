package settings

// A Substitution is one variable that was replaced to resolve a value.
type Substitution struct {
	Text       string `json:"text"`       // as it was written
	Definition string `json:"definition"` // as it is written where the variable is set
	Value      string `json:"value"`      // the same with its own variables replaced
	Source     string `json:"source"`     // engine, workflow.yaml, config.yaml or default
	Depth      int    `json:"depth"`      // 0 for what the text itself holds
}
