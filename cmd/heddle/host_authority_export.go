package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/durable"
)

func newAuthorityExport(s *session) *cobra.Command {
	q, file, fd := client.AuthorityKeyRequest{}, "", -1
	cmd := &cobra.Command{
		Use: "export [FILE]", Args: withArgs("[FILE]"),
		Short: "Write the authority's key to a file",
		Long: `export writes the key of the cluster's authority, which this host has because it
keeps the store, to a new file that only its owner can read (mode 0600), or to a
descriptor. It replaces no file, and writes to none that others can read. Who has
the file is the cluster: keep it where no host is, and two copies of it.`,
		Example: "  heddle host authority export authority.pem",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if (len(args) == 0) == (fd < 0) {
				return badCommand(cmd, "one of argument FILE and flag --fd is needed, and not both")
			}
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			fetch := func() ([]byte, error) {
				k, err := s.client().AuthorityKey(cmd.Context(), q)
				return []byte(k.Key), err
			}
			if fd >= 0 {
				name := fmt.Sprintf("descriptor %d", fd)
				return writeSecret(os.NewFile(uintptr(fd), name), name, fetch)
			}
			if err := createSecretFile(args[0], fetch); err != nil {
				return err
			}
			return s.emitDone("AuthorityExport", map[string]string{"file": args[0]}, "the authority's key is in %s", args[0])
		},
	}
	cmd.Flags().IntVar(&fd, "fd", fd, "write to this `descriptor` instead of a file")
	cmd.RegisterFlagCompletionFunc("fd", cobra.NoFileCompletions)
	credentialFlag(cmd, &file)
	return cmd
}

// createSecretFile writes a secret to a new file, completely or not at all.
func createSecretFile(path string, fetch func() ([]byte, error)) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return heddle.Errorf(heddle.BadArgument, "write file", path, "it exists already", "name a new file")
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // made with 0600
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "write file", path, err, "name a file in a folder that can be written")
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
		}
	}()
	if err := writeSecret(file, path, fetch); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, file.Name(), unix.AT_FDCWD, path, unix.RENAME_NOREPLACE); err != nil {
		return heddle.Wrap(heddle.BadArgument, "write file", path, err, "name a new file")
	}
	return durable.Folder(filepath.Dir(path))
}

// writeSecret writes a secret to an open file and closes it. It refuses a file that
// others can read, as on a file system without modes.
func writeSecret(file *os.File, name string, fetch func() ([]byte, error)) error {
	defer file.Close()
	if err := heddle.CheckSecret(file, "the authority's key", name); err != nil {
		return err
	}
	text, err := fetch()
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if bad := file.Sync(); err == nil && !errors.Is(bad, unix.EINVAL) { // a pipe is not synced
		err = bad
	}
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "write file", name, err, "name a file in a folder that can be written")
	}
	return nil
}

// readSecretFile reads a file that only its owner can read. The argument what names the
// secret, such as "the authority's key", for the error.
func readSecretFile(path, what string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", heddle.Wrap(heddle.BadArgument, "read file", path, err, "name a readable file")
	}
	defer f.Close()
	if err := heddle.CheckSecret(f, what, path); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return "", heddle.Wrap(heddle.BadArgument, "read file", path, err, "name a readable file")
	}
	return string(text), nil
}
