package door

import "context"

type callerKey struct{}

// WithCaller returns a context of a request that knows the process at the other end of the socket.
func WithCaller(ctx context.Context, pid int32) context.Context {
	return context.WithValue(ctx, callerKey{}, pid)
}

// CallerOf is the process that WithCaller has told, 0 if none.
func CallerOf(ctx context.Context) int {
	pid, _ := ctx.Value(callerKey{}).(int32)
	return int(pid)
}
