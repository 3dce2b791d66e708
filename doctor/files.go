package doctor

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func fileChecks() []Check {
	return []Check{
		{ID: "socket-rights", Title: "Only root and a group may use the socket", Wrong: "Others than root and a group may use the socket", Severity: Fail, Looks: "owner and mode of the agent's socket",
			Why: "Whoever can write to it commands the host's network.", Remedy: "chmod 0660 SOCKET && chown root SOCKET", look: lookSocketRights, fix: fixSocketRights},
		{ID: "folder-rights", Title: "Only root may write to the agent's folders", Wrong: "Others than root may write to the agent's folders", Severity: Fail, Looks: "owner and mode of the state and run folders",
			Why: "Whoever can write there can take the socket's place, or the ledger's.", Remedy: "chmod go-w FOLDER && chown root FOLDER", look: lookFolderRights, fix: fixFolderRights},
		{ID: "ledger-rights", Title: "Only root may read the ledger", Wrong: "Others than root may read the ledger", Severity: Warn, Looks: "owner and mode of heddle.db and ledger.db",
			Why: "It names all containers and their namespaces; written to by others, it is lost.", Remedy: "chmod 0600 FILE", look: lookLedgerRights, fix: fixLedgerRights},
		{ID: "ledger-sound", Title: "The ledger's files are whole", Wrong: "A file of the ledger is not whole", Severity: Fail, Looks: "the head of heddle.db and ledger.db: size, and one of the two descriptions that every such file starts with",
			Why: "The agent refuses to start with a damaged ledger, and changes nothing.", Remedy: "restore FILE from a copy; see 'heddle explain HDL-4002'", look: lookLedgerSound},
		{ID: "disk-room", Title: "The file systems of the agent's folders have room", Wrong: "The file system of an agent's folder is nearly full", Severity: Warn, Looks: "statfs(2) of the state and run folders: bytes and inodes free (16 MiB and 1000 at least)",
			Why: "An attach is refused when its record cannot be written.", Remedy: "make room on the file system", look: lookDiskRoom},
		{ID: "disk-writable", Title: "The agent's folders can be written", Wrong: "The agent's folders cannot be written", Severity: Fail, Looks: "statfs(2) of the state and run folders: the flag ro",
			Why: "Nothing can be attached or detached.", Remedy: "mount -o remount,rw FOLDER", look: lookDiskWritable},
		{ID: "run-volatile", Title: "The run folder does not survive a reboot", Wrong: "The run folder is not in memory", Severity: Warn, Looks: "the kind of file system of the run folder",
			Why: "It is written at every attach; on a disk that is slow, and wears it.", Remedy: "use a folder below /run (--run-dir)", look: lookFileSystem(true)},
		{ID: "state-lasting", Title: "The state folder survives a reboot", Wrong: "The state folder does not survive a reboot", Severity: Warn, Looks: "the kind of file system of the state folder",
			Why: "The host's networks are forgotten at every boot.", Remedy: "use a folder on a disk (--state-dir)", look: lookFileSystem(false)},
		{ID: "clock", Title: "The clock has not gone back", Wrong: "The clock has gone back", Severity: Warn, Looks: "the time, and the times of the agent's files",
			Why: "Addresses that were given back stay in quarantine until the clock has caught up.", Remedy: "timedatectl set-ntp true", look: lookClock},
	}
}

const wrongSocket, wrongFolder, wrongFile = 0o117, 0o022, 0o077

// rights says what is wrong with a file's owner and mode. It is empty if nothing is wrong or
// the file does not exist.
func rights(path string, wrong os.FileMode) string {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return ""
	}
	if mode := os.FileMode(st.Mode & 0o777); mode&wrong != 0 || st.Uid != 0 {
		return fmt.Sprintf("stat %s: mode %04o, owner %d", path, mode, st.Uid)
	}
	return ""
}

func allRights(wrong os.FileMode, paths ...string) (evidence, remedy []string) {
	for _, path := range paths {
		if s := rights(path, wrong); s != "" {
			evidence, remedy = append(evidence, s), append(remedy, fmt.Sprintf("chmod %s %s && chown root %s", chmodMode(wrong), path, path))
		}
	}
	return evidence, remedy
}

func chmodMode(wrong os.FileMode) string {
	return map[os.FileMode]string{wrongSocket: "0660", wrongFolder: "go-w", wrongFile: "0600"}[wrong]
}

// fixRights removes the wrong mode bits, and makes root the owner.
func fixRights(wrong os.FileMode, paths ...string) (done []string, err error) {
	for _, path := range paths {
		if rights(path, wrong) == "" {
			continue
		}
		st, err := os.Lstat(path)
		if err != nil || st.Mode()&os.ModeSymlink != 0 {
			return done, fmt.Errorf("%s is no file of ours: %v", path, err)
		}
		if err := os.Lchown(path, 0, -1); err != nil {
			return done, err
		}
		mode := st.Mode().Perm() &^ wrong
		if err := os.Chmod(path, mode); err != nil {
			return done, err
		}
		done = append(done, fmt.Sprintf("chown root %s; chmod %04o %s", path, mode, path))
	}
	return done, nil
}

func (h *Host) ledgers() []string {
	return []string{filepath.Join(h.StateDir, "heddle.db"), filepath.Join(h.RunDir, "ledger.db")}
}

func lookSocketRights(_ context.Context, h *Host) Finding {
	evidence, remedy := allRights(wrongSocket, h.Socket)
	return trouble(evidence, remedy...)
}

func fixSocketRights(_ context.Context, h *Host) ([]string, error) {
	return fixRights(wrongSocket, h.Socket)
}

func lookFolderRights(_ context.Context, h *Host) Finding {
	evidence, remedy := allRights(wrongFolder, h.StateDir, h.RunDir)
	return trouble(evidence, remedy...)
}

func fixFolderRights(_ context.Context, h *Host) ([]string, error) {
	return fixRights(wrongFolder, h.StateDir, h.RunDir)
}

func lookLedgerRights(_ context.Context, h *Host) Finding {
	evidence, remedy := allRights(wrongFile, h.ledgers()...)
	return trouble(evidence, remedy...)
}

func fixLedgerRights(_ context.Context, h *Host) ([]string, error) {
	return fixRights(wrongFile, h.ledgers()...)
}

// boltMagic follows the header of each of the first two pages (bbolt).
const boltMagic, boltHeader = 0xED0CDAED, 16

func lookLedgerSound(_ context.Context, h *Host) Finding {
	var read, evidence []string
	for _, path := range h.ledgers() {
		b := make([]byte, 2*os.Getpagesize())
		f, err := os.Open(path)
		if err != nil {
			continue // the agent makes it
		}
		n, _ := f.Read(b)
		f.Close()
		switch one, two := magicAt(b[:n], 0), magicAt(b[:n], os.Getpagesize()); {
		case n < len(b):
			evidence = append(evidence, fmt.Sprintf("%s: %d bytes", path, n))
		case !one && !two:
			evidence = append(evidence, fmt.Sprintf("%s: % x … where the magic number %x should be", path, b[boltHeader:boltHeader+8], uint32(boltMagic)))
		default:
			read = append(read, path+": its head is whole")
		}
	}
	if len(evidence) == 0 {
		return fine(read...)
	}
	return trouble(evidence)
}

func magicAt(b []byte, page int) bool {
	at := page + boltHeader
	return len(b) >= at+4 && binary.NativeEndian.Uint32(b[at:]) == boltMagic
}
