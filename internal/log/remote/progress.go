package remote

import "context"

// UnknownSize is the limit of a body whose record does not state its size, such as a
// directory.
const UnknownSize = 1 << 30

type progressKey struct{}

// WithProgress returns a context in which Fetch reports how many bytes of a body it has
// copied, and its size.
func WithProgress(ctx context.Context, report func(done, total int64)) context.Context {
	return context.WithValue(ctx, progressKey{}, report)
}

// progress returns what a context reports to, nil for nothing. The progress of a body
// of unknown size is not known either.
func progress(ctx context.Context, size int64) func(done, total int64) {
	report, _ := ctx.Value(progressKey{}).(func(done, total int64))
	if size == UnknownSize {
		return nil
	}
	return report
}
