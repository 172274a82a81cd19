package trace

// A Statement is an attestation in the format of in-toto: a Statement v1 with the
// predicate test-result v0.1. It is not signed.
type Statement struct {
	Type          string       `json:"_type"`
	Subject       []Descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     TestResult   `json:"predicate"`
}

// A TestResult is the predicate of a Statement.
type TestResult struct {
	Result        string       `json:"result"` // PASSED, FAILED, or WARNED if the command changed the tree
	Configuration []Descriptor `json:"configuration"`
	PassedTests   []string     `json:"passedTests,omitempty"`
	WarnedTests   []string     `json:"warnedTests,omitempty"`
	FailedTests   []string     `json:"failedTests,omitempty"`
}

// A Descriptor is a ResourceDescriptor of in-toto.
type Descriptor struct {
	Name        string            `json:"name,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Content     []byte            `json:"content,omitempty"` // in base64
	MediaType   string            `json:"mediaType,omitempty"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}
