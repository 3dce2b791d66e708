package join

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/heddle-network/heddle"
)

// ignore forgets the errors listed.
func ignore(err error, these ...error) error {
	for _, e := range these {
		if errors.Is(rpctypes.Error(err), e) {
			return nil
		}
	}
	return err
}

// refusedTo says what the store did not do: for now, or because it refuses to.
func refusedTo(op, object string, err error) error {
	if err == nil {
		return nil
	}
	code := heddle.StoreRefused
	switch c := codeOf(err); {
	case c == codes.Unavailable, c == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		code = heddle.StoreDown
	}
	return heddle.Wrap(code, op, object, err, "'heddle status' shows the store's state")
}

// codeOf is gRPC's code of an error of etcd's client, which names its own
// differently.
func codeOf(err error) codes.Code {
	var etcds rpctypes.EtcdError
	if errors.As(err, &etcds) {
		return etcds.Code()
	}
	return status.Code(err)
}
