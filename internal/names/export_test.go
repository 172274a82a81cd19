package names

// Stepped returns a writer that a test can stop at any step of a rendering.
func (w Writer) Stepped(steps func(name string, do func() error) error) Writer {
	w.steps = steps
	return w
}

// TemporaryPrefix begins the names of files that are on their way.
const TemporaryPrefix = temporaryPrefix
