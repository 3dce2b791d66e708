package join

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/store"
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

// storeError makes an error for what the store did not do, for now or because it refuses.
func storeError(op, object string, err error) error {
	if err == nil {
		return nil
	}
	code := heddle.StoreRefused
	if store.Away(err) {
		code = heddle.StoreDown
	}
	return heddle.Wrap(code, op, object, err, "look at the store's state with 'heddle status', and try again")
}
