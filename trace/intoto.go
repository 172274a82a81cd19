package trace

import "time"

// A Statement is a Statement v1 of in-toto with the predicate test-result v0.1, a
// TestResult, or provenance v1, a Provenance. It is not signed.
type Statement struct {
	Type          string       `json:"_type"`
	Subject       []Descriptor `json:"subject"`
	PredicateType string       `json:"predicateType"`
	Predicate     any          `json:"predicate"`
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
	URI         string            `json:"uri,omitempty"`
	Digest      map[string]string `json:"digest,omitempty"`
	Content     []byte            `json:"content,omitempty"` // in base64
	MediaType   string            `json:"mediaType,omitempty"`
	Annotations map[string]any    `json:"annotations,omitempty"`
}

// A Provenance is a predicate of a Statement: SLSA Provenance v1.
type Provenance struct {
	BuildDefinition BuildDefinition `json:"buildDefinition"`
	RunDetails      RunDetails      `json:"runDetails"`
}

// A BuildDefinition is what an artifact was made from.
type BuildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]string `json:"externalParameters"`
	ResolvedDependencies []Descriptor      `json:"resolvedDependencies,omitempty"`
}

// RunDetails are who made an artifact, and when.
type RunDetails struct {
	Builder    Builder      `json:"builder"`
	Metadata   RunMetadata  `json:"metadata"`
	Byproducts []Descriptor `json:"byproducts,omitempty"`
}

// A Builder identifies the program and the agent.
type Builder struct {
	ID string `json:"id"`
}

// RunMetadata is when an artifact was published, and in which thread or session.
type RunMetadata struct {
	InvocationID string    `json:"invocationId,omitempty"`
	FinishedOn   time.Time `json:"finishedOn"`
}
