package session

// The statuses that a session is closed with.
const (
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)
