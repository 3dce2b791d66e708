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

func prefixRight(prefix string, may clientv3.PermissionType) right {
	return right{prefix, clientv3.GetPrefixRangeEnd(prefix), may}
}

// rights are those that a host should have. The founder, which came by no token, also has
// the right to create the cluster's own record.
func (h admitted) rights() []right {
	all := []right{prefixRight(cluster.Prefix, mayRead), prefixRight(hostsPrefix+h.name+"/", mayRead),
		prefixRight(cluster.Prefix+"hosts/"+h.name+"/", mayWrite), prefixRight(cluster.Prefix+"blocks/", mayWrite)}
	if h.writesNetworks() {
		all = append(all, prefixRight(cluster.Prefix+"networks/", mayWrite))
	}
	if h.keeper && h.Token == "" {
		all = append(all, right{key: cluster.Prefix + "cluster", may: mayWrite})
	}
	return all
}

func (h admitted) writesNetworks() bool { return h.keeper || slices.Contains(h.May, Networks) }

// grant makes a host that was let in a user of the store.
func (r roster) grant(ctx context.Context, g identity) error {
	user := g.String()
	if _, err := r.client.RoleAdd(ctx, user); ignore(err, rpctypes.ErrRoleAlreadyExist) != nil {
		return storeError("create role", user, err)
	}
	if _, err := r.syncRights(ctx, g.Name); err != nil {
		return err
	}
	if err := ignore(r.user(ctx, user), rpctypes.ErrUserAlreadyExist); err != nil {
		return storeError("create user", user, err)
	}
	_, err := r.client.UserGrantRole(ctx, user, user)
	return storeError("give rights to", user, err)
}

// syncRights gives a host the rights that it should have, and takes away all others.
// These may change meanwhile, so it repeats until they are unchanged. It reports whether
// the store has a role for the host.
func (r roster) syncRights(ctx context.Context, name string) (there bool, err error) {
	for {
		h, err := r.host(ctx, name)
		if err != nil || h == nil {
			return false, err
		}
		if there, err = r.syncRole(ctx, *h); err != nil {
			return there, err
		}
		now, err := r.host(ctx, name)
		if err != nil || now == nil || now.ID == h.ID && slices.Equal(now.rights(), h.rights()) {
			return there, err
		}
	}
}

// syncRole gives a host's role exactly the rights that the host should have. It reports
// whether the role exists.
func (r roster) syncRole(ctx context.Context, h admitted) (bool, error) {
	role := identity{h.name, h.ID}.String()
	got, err := r.client.RoleGet(ctx, role)
	if err != nil {
		return false, storeError("read rights of", role, ignore(err, rpctypes.ErrRoleNotFound))
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
			return true, storeError("take rights from", role, err)
		}
	}
	for _, x := range due {
		if slices.Contains(has, x) {
			continue
		}
		if _, err := r.client.RoleGrantPermission(ctx, role, x.key, x.end, x.may); err != nil {
			return true, storeError("give rights to", role, err)
		}
	}
	return true, nil
}
