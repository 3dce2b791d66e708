package store

import (
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestAway has the errors that etcd 3.7 returned to a client while a member stopped or was
// removed, or had no leader, and others.
func TestAway(t *testing.T) {
	for _, err := range []error{
		rpctypes.ErrGRPCStopped,
		rpctypes.ErrGRPCNoLeader,
		rpctypes.ErrStopped,
		status.Error(codes.Unavailable, "connection refused"),
		status.Error(codes.Unknown, "raft: stopped"),
		status.Error(codes.Unknown, "raft proposal dropped"),
		status.Error(codes.Unknown, "unexpected HTTP status code received from server: 200 (OK); malformed header: missing HTTP content-type"),
	} {
		if !Away(err) {
			t.Errorf("%v: it answers", err)
		}
	}
	for _, err := range []error{
		rpctypes.ErrGRPCPermissionDenied,
		rpctypes.ErrGRPCRoleNotFound,
		status.Error(codes.Unknown, "something else"),
	} {
		if Away(err) {
			t.Errorf("%v: it does not answer", err)
		}
	}
}
