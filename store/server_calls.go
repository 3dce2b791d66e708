package store

import (
	"fmt"

	"github.com/grpc-ecosystem/go-grpc-middleware/v2/interceptors/recovery"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// callOptions are for the calls that the member answers. At its end etcd closes its data,
// and a call that still reads them panics (baseReadTx in storage/backend/read_tx.go). So
// gRPC waits for the calls; and where the member stops by itself, the call fails and the
// agent lives on.
func (f *failure) callOptions() []grpc.ServerOption {
	handler := recovery.WithRecoveryHandler(func(cause any) error {
		f.set(fmt.Errorf("a call panicked: %v", cause))
		return status.Error(codes.Unavailable, "this member of the store stops")
	})
	return []grpc.ServerOption{
		grpc.WaitForHandlers(true),
		grpc.ChainUnaryInterceptor(recovery.UnaryServerInterceptor(handler)),
		grpc.ChainStreamInterceptor(recovery.StreamServerInterceptor(handler)),
	}
}
