package join

import (
	"context"
	"slices"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/heddle-network/heddle/cluster"
)

// right is what a role may do in the store with a range of keys.
type right struct {
	key, end string
	may      clientv3.PermissionType
}

const (
	mayRead  = clientv3.PermissionType(clientv3.PermRead)
	mayWrite = clientv3.PermissionType(clientv3.PermReadWrite)
)

func below(prefix string, may clientv3.PermissionType) right {
	return right{prefix, clientv3.GetPrefixRangeEnd(prefix), may}
}

// rights are those that a host should have. The founder, which came by no token, also has
// the right to create the cluster's own record.
func (h admitted) rights() []right {
	all := []right{below(cluster.Prefix, mayRead), below(hostsPrefix+h.name+"/", mayRead),
		below(cluster.Prefix+"hosts/"+h.name+"/", mayWrite), below(cluster.Prefix+"blocks/", mayWrite)}
	if h.writesNetworks() {
		all = append(all, below(cluster.Prefix+"networks/", mayWrite))
	}
	if h.keeper && h.Token == "" {
		all = append(all, right{key: cluster.Prefix + "cluster", may: mayWrite})
	}
	return all
}

func (h admitted) writesNetworks() bool { return h.keeper || slices.Contains(h.May, Networks) }

// grant makes a host that was let in a user of the store.
func (r roster) grant(ctx context.Context, g guest) error {
	user := g.String()
	if _, err := r.client.RoleAdd(ctx, user); ignore(err, rpctypes.ErrRoleAlreadyExist) != nil {
		return refusedTo("create role", user, err)
	}
	if _, err := r.settleRights(ctx, g.Name); err != nil {
		return err
	}
	if err := ignore(r.user(ctx, user), rpctypes.ErrUserAlreadyExist); err != nil {
		return refusedTo("create user", user, err)
	}
	_, err := r.client.UserGrantRole(ctx, user, user)
	return refusedTo("give rights to", user, err)
}

// settleRights gives a host the rights that it should have, and takes away all others.
// These may change meanwhile, so it repeats until they are unchanged. It reports whether
// the store has a role for the host.
func (r roster) settleRights(ctx context.Context, name string) (there bool, err error) {
	for {
		h, err := r.host(ctx, name)
		if err != nil || h == nil {
			return false, err
		}
		if there, err = r.bring(ctx, *h); err != nil {
			return there, err
		}
		now, err := r.host(ctx, name)
		if err != nil || now == nil || now.ID == h.ID && slices.Equal(now.rights(), h.rights()) {
			return there, err
		}
	}
}

// bring gives a host's role exactly the rights that the host should have. It reports
// whether the role exists.
func (r roster) bring(ctx context.Context, h admitted) (bool, error) {
	role := guest{h.name, h.ID}.String()
	got, err := r.client.RoleGet(ctx, role)
	if err != nil {
		return false, refusedTo("read rights of", role, ignore(err, rpctypes.ErrRoleNotFound))
	}
	due := h.rights()
	var has []right
	for _, p := range got.Perm {
		x := right{string(p.Key), string(p.RangeEnd), clientv3.PermissionType(p.PermType)}
		if slices.Contains(due, x) {
			has = append(has, x)
			continue
		}
		if _, err := r.client.RoleRevokePermission(ctx, role, x.key, x.end); ignore(err, rpctypes.ErrPermissionNotGranted) != nil {
			return true, refusedTo("take rights from", role, err)
		}
	}
	for _, x := range due {
		if slices.Contains(has, x) {
			continue
		}
		if _, err := r.client.RoleGrantPermission(ctx, role, x.key, x.end, x.may); err != nil {
			return true, refusedTo("give rights to", role, err)
		}
	}
	return true, nil
}
