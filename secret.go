package heddle

import (
	"fmt"
	"os"
	"syscall"
)

// CheckSecret returns OpenSecret if a regular file with a secret has permissions for
// others than its owner, or if its owner is neither root nor this user. Pipes and other
// files pass. The argument what names the secret, such as "the token".
func CheckSecret(file *os.File, what, name string) error {
	st, err := file.Stat()
	if err != nil {
		return Wrap(BadArgument, "examine file", name, err, "name a readable file")
	}
	if !st.Mode().IsRegular() {
		return nil
	}
	if st.Mode().Perm()&0o077 != 0 {
		return Errorf(OpenSecret, "check permissions of", name, fmt.Sprintf("others than the file's owner can read %s (mode %04o)", what, st.Mode().Perm()),
			"run 'chmod 600 "+name+"', if nobody has read it yet")
	}
	if owner := st.Sys().(*syscall.Stat_t).Uid; owner != 0 && int(owner) != os.Geteuid() {
		return Errorf(OpenSecret, "check permissions of", name, fmt.Sprintf("the file with %s belongs to user %d", what, owner),
			"run 'chown root "+name+"', if nobody has read it yet")
	}
	return nil
}
