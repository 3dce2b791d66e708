package service

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/durable"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/remote"
)

// State is the service's folder: its certificate with the key, and the grants. 'heddle nic grant' and 'heddle nic
// revoke' change it while the service runs, which reads a grant's file for each request.
type State struct {
	dir  string
	cert certificate
}

// OpenState opens the folder. It makes what is missing: the folder, a key, a certificate of ten years. Its errors
// are of code heddle.LedgerBroken or LedgerFull.
func OpenState(dir string) (*State, error) {
	s := &State{dir: dir}
	if err := os.MkdirAll(s.grants(), 0o700); err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "make state folder of NIC service", dir, err, "name a folder that can be written")
	}
	unlock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s.cert, err = openCertificate(dir, time.Now()); err != nil {
		return nil, heddle.Wrap(heddle.LedgerBroken, "read certificate of NIC service in", dir, err,
			"restore cert.pem and key.pem from a copy; or remove both, start again, and make new grants for all machines")
	}
	return s, nil
}

// grantRecord is what the folder has of a grant.
type grantRecord struct {
	// Secret is the SHA-256 of the secret, in hex.
	Secret string    `json:"secret"`
	Made   time.Time `json:"made"`
}

// Grant makes a grant for a machine, for a service at that address. An older one of the machine ends at once.
func (s *State) Grant(machine, address string) (remote.Grant, error) {
	if err := errors.Join(nic.CheckMachine(machine), remote.CheckAddress(address)); err != nil {
		return remote.Grant{}, heddle.Wrap(heddle.BadArgument, "make grant for machine", heddle.Visible(heddle.Clip(machine), false), err, "give a name and an address of that form")
	}
	var secret [remote.SecretSize]byte
	rand.Read(secret[:]) // never fails
	sum := sha256.Sum256(secret[:])
	text, err := json.Marshal(grantRecord{hex.EncodeToString(sum[:]), time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return remote.Grant{}, err
	}
	unlock, err := s.lock()
	if err != nil {
		return remote.Grant{}, err
	}
	defer unlock()
	if err := durable.Replace(s.file(machine), append(text, '\n')); err != nil {
		return remote.Grant{}, heddle.Wrap(heddle.LedgerFull, "write grant of machine", machine, err, "make room for the state folder, and call again")
	}
	return remote.Grant{Address: address, Fingerprint: remote.Fingerprint(s.cert.der), Machine: machine, Secret: remote.SecretText(secret)}, nil
}

// Revoke ends the grant of a machine at once. It reports whether there was one.
func (s *State) Revoke(machine string) (bool, error) {
	if err := nic.CheckMachine(machine); err != nil {
		return false, err
	}
	unlock, err := s.lock()
	if err != nil {
		return false, err
	}
	defer unlock()
	err = os.Remove(s.file(machine))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = durable.Folder(s.grants())
	}
	if err != nil {
		return false, heddle.Wrap(heddle.LedgerFull, "remove grant of machine", machine, err, "remove the file "+s.file(machine)+" by hand")
	}
	return true, nil
}

// GrantFile is the file of a machine's grant; "" if there is none.
func (s *State) GrantFile(machine string) (string, error) {
	if err := nic.CheckMachine(machine); err != nil {
		return "", err
	}
	_, err := os.Stat(s.file(machine))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", heddle.Wrap(heddle.LedgerBroken, "look for grant of machine", machine, err, "make the folder readable")
	}
	return s.file(machine), nil
}

// proves reports whether the secret is that of the machine's grant. The name is one that nic.CheckMachine
// accepts.
func (s *State) proves(machine string, secret [remote.SecretSize]byte) bool {
	got := sha256.Sum256(secret[:])
	var r grantRecord
	f, err := os.Open(s.file(machine))
	if err == nil {
		defer f.Close()
		err = json.NewDecoder(io.LimitReader(f, 4096)).Decode(&r)
	}
	want, notHex := hex.DecodeString(r.Secret)
	return subtle.ConstantTimeCompare(got[:], want) == 1 && err == nil && notHex == nil
}

func (s *State) grants() string             { return filepath.Join(s.dir, "grants") }
func (s *State) file(machine string) string { return filepath.Join(s.grants(), machine+".json") }

// lock keeps other processes from writing in the folder.
func (s *State) lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(s.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
			f.Close()
		}
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "lock state folder of NIC service", s.dir, err, "name a folder that can be written")
	}
	return func() { f.Close() }, nil
}
