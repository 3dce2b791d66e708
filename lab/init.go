package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// The hidden first arguments of a program that makes labs.
const (
	argInit = "lab-init" // FOLDER HOST: the init, waiting to be recorded
	argHost = "lab-host" // FOLDER HOST: the init, in its cgroup
	argRun  = "lab-run"  // COMMAND…: a command that nsenter has brought into the host

	argGuest   = "lab-guest"   // the first process of a machine
	argEnter   = "lab-enter"   // PID COMMAND…: runs a command in a machine with that init, for its caller
	argEmulate = "lab-emulate" // SOCKET COMMAND…: an emulator, started when its files are served

	argRelay = "lab-relay" // PORT: a relay in a wire, started by the switch's init
	argGuard = "lab-guard" // FOLDER: removes the lab when the process that raised it ends
)

// The init's two pipes.
const (
	wordFD   = 3
	reportFD = 4
)

// Dispatch must be called first in main, with the arguments after the program's name: the
// program that makes a lab also runs as its hosts' inits. It does not return if the
// arguments are the lab's own; otherwise it returns false.
func Dispatch(args []string) bool {
	switch {
	case len(args) == 3 && args[0] == argInit:
		exit(joinGroupAndExec(args[1], args[2]))
	case len(args) == 3 && args[0] == argHost:
		exit(serve(args[1], args[2]))
	case len(args) == 2 && args[0] == argGuard:
		os.Exit(guardFolder(args[1]))
	case len(args) == 2 && args[0] == argRelay:
		fmt.Fprintln(os.Stderr, relay(args[1]))
		os.Exit(1)
	case len(args) == 1 && args[0] == argGuest && os.Getpid() == 1:
		guest()
	case len(args) >= 3 && args[0] == argEnter:
		os.Exit(enterMachine(args[1], args[2:]))
	case len(args) >= 3 && args[0] == argEmulate:
		fmt.Fprintln(os.Stderr, emulate(args[1], args[2:]))
		os.Exit(1)
	case len(args) >= 2 && args[0] == argRun:
		os.Exit(run(args[1:]))
	}
	return false
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.NewFile(reportFD, "report"), err)
	os.Exit(1)
}

// joinGroupAndExec is the init's first part. A cgroup namespace shows its creator's cgroup
// as the root, so the init joins its cgroup first. Only the calling thread enters the cgroup
// namespace, so this thread executes the program again to have it in all threads.
func joinGroupAndExec(lab, host string) error {
	if readWord() != wordGo {
		return nil
	}
	s, err := readSpec(filepath.Join(lab, host))
	if err != nil {
		return err
	}
	if err := joinGroup(s.Group); err != nil {
		return fmt.Errorf("join the cgroup: %w", err)
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil && err != unix.EINVAL {
		return fmt.Errorf("make a cgroup namespace: %w", err)
	}
	return syscall.Exec("/proc/self/exe", []string{os.Args[0], argHost, lab, host}, os.Environ())
}

// serve is the init's second part: it sets up the host and supervises its programs.
func serve(lab, host string) error {
	unix.CloseOnExec(wordFD)
	unix.CloseOnExec(reportFD)
	s, err := readSpec(filepath.Join(lab, host))
	if err != nil {
		return err
	}
	folder, err := os.OpenRoot(filepath.Join(lab, host))
	if err != nil {
		return err
	}
	if err := s.setUp(filepath.Join(lab, host)); err != nil {
		return err
	}
	if s.Machine != nil {
		go forward(socket)
	}
	k := newSupervisor(folder, stateName, func() []program {
		s, _ := readRoot(folder)
		return s.initPrograms()
	})
	if k.startWanted() { // an emulator
		k.writeState()
	}
	report := os.NewFile(reportFD, "report")
	fmt.Fprintln(report, reportReady)
	stay := make(chan bool, 1)
	go func() {
		ours := readWord() == wordStay
		report.Close()
		stay <- ours
	}()
	k.loop(stay)
	return nil
}

func (s spec) setUp(folder string) error {
	if err := unix.Sethostname([]byte(s.Name)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := s.mount(folder); err != nil {
		return err
	}
	sysctls := s.Sysctls
	if s.Machine != nil { // the guest sets its own; here the wires end in bridges
		sysctls = switchSysctls()
	}
	for key, value := range sysctls {
		if err := os.WriteFile(sysctlPath(key), []byte(value), 0o644); err != nil {
			return fmt.Errorf("set %s=%s: %w", key, value, err)
		}
	}
	return nil
}

// readWord returns the next word, or 0 when the maker is gone. It reads a single byte: what
// follows is for the init's second part.
func readWord() byte {
	var word [1]byte
	for {
		n, err := unix.Read(wordFD, word[:])
		if err == unix.EINTR {
			continue
		}
		if n != 1 {
			return 0
		}
		return word[0]
	}
}

// readSpec reads the record in a host's folder.
func readSpec(folder string) (spec, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return spec{}, err
	}
	defer root.Close()
	return readRoot(root)
}

func readRoot(folder *os.Root) (s spec, err error) {
	b, err := folder.ReadFile(specName)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}
