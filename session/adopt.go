package session

// An Adoption is the result of importing one folder, or of checking whether it
// can be imported.
type Adoption struct {
	ID       string   `json:"id"` // of its session; the name of a folder without a manifest
	Folder   string   `json:"folder"`
	Status   string   `json:"status"`
	Problems []string `json:"problems,omitempty"` // violations of the specification, with their JSON pointers
}

// The statuses of an Adoption.
const (
	Adopted    = "adopted"
	Recorded   = "recorded"    // as a session that handoff opened
	Adoptable  = "adoptable"   // it was checked only
	Unadopted  = "invalid"     // the manifest violates the specification
	NoManifest = "no manifest" // of a folder whose name is a UUID
)

// AdoptOptions change what is imported.
type AdoptOptions struct {
	Lenient bool // import the valid parts of an invalid manifest
	DryRun  bool // check manifests and record nothing
}
