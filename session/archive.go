package session

import "time"

// A Due is a session that is to be archived.
type Due struct {
	ID       string    `json:"id"`
	Folder   string    `json:"folder,omitempty"`
	Name     string    `json:"longName"`
	ClosedAt time.Time `json:"completedAt"`
}

// A Summary describes a session to someone who decides whether to delete it.
type Summary struct {
	ID        string    `json:"id"`
	Name      string    `json:"longName"`
	Folder    string    `json:"folder,omitempty"`
	OpenedAt  time.Time `json:"startedAt,omitzero"`
	SizeBytes int64     `json:"sizeBytes"` // of the files in its folder
	Active    []string  `json:"artifacts"` // its artifacts that are active
	DeletedAt time.Time `json:"deletedAt,omitzero"`
	// in the trash: active artifacts that only its files have, and sessions in its folder
	NeededBy []string `json:"neededBy,omitempty"`

	// Unrecorded is, in the trash, the number of files that no artifact was published
	// from: nothing else is known of them.
	Unrecorded int `json:"unrecordedFiles,omitempty"`

	Removed bool `json:"removed,omitempty"` // its files were removed
}
