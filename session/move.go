package session

import "time"

// A Move is the result of moving a session's folder. The folders are relative to
// the main worktree; they are equal if there was nothing to move.
type Move struct {
	ID       string   `json:"id"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

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
	SizeBytes int64     `json:"sizeBytes"`          // of the files in its folder
	Active    []string  `json:"artifacts"`          // its artifacts that are active
	NeededBy  []string  `json:"neededBy,omitempty"` // in the trash: active artifacts that only its files have

	// Unrecorded is, in the trash, the number of files that no artifact was published
	// from: nothing else is known of them.
	Unrecorded int `json:"unrecordedFiles,omitempty"`
}

// An EmptiedTrash is the result of emptying the trash.
type EmptiedTrash struct {
	Removed []Summary `json:"removed"`
	Kept    []Summary `json:"kept"` // active artifacts need their files
}
