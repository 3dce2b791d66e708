package plan

import "github.com/heddle-network/heddle/crowd/scenario"

// What programs that answer for services take.
const (
	// spareOfProgram: one connection more for each so many. A process of nginx of which fewer than one in 16 is free closes some that are kept
	// (ngx_drain_connections).
	spareOfProgram = 14
)

// taken is the memory that a program takes, in bytes.
type taken struct {
	// program is that of its contents, and its processes; served is what a connection takes at both ends beside its sockets.
	program, served int64
}

// takes says it of each program. Measured of hundreds of connections that were kept: with nginx 1.22 and two workers, 16 MiB and 6 MB,
// and 2 KB over HTTP, 62 KB with TLS, 102 KB over HTTP/2, most of it this program's; with redis 7.0, which has its contents in a file
// and in memory, 45 MB, and 19 KB, or 46 KB with TLS. Measured of openssh 9.2 with a hundred: 7 MB, and 2.3 MB in three processes, some
// of it the kernel's. Measured of dovecot 2.3 with four hundred: 32 MB, and 0.6 MB in one process over IMAP, 0.9 MB in three by SMTP, beside
// the kernel's; 0.1 MB more with TLS. Measured of caddy 2.6 with eight hundred, over HTTP/3: 52 MB, and 0.2 MB, half of it this program's. Measured of unbound 1.17 with two thousand users, and no connections: 15 MB.
func takes(by string) taken {
	switch by {
	case "caddy":
		return taken{program: 56 << 20, served: 224 << 10}
	case "dovecot":
		return taken{program: 40 << 20, served: 1400 << 10}
	case "openssh":
		return taken{program: 9 << 20, served: 2300 << 10}
	case "redis":
		return taken{program: 48 << 20, served: 64 << 10}
	case "unbound":
		return taken{program: 24 << 20}
	}
	return taken{program: 24 << 20, served: 100 << 10}
}

// mostServed is how many files a process of a program needs at most; 0 if there is no program.
func (s Summary) mostServed() (most int64) {
	for name, connections := range s.Served {
		files := connections + connections/spareOfProgram
		switch by := s.by[name]; {
		case by.By == "caddy": // all connections have one socket
			files = 0
		case by.By == "dovecot" && by.TLS: // the process that speaks TLS has the other end of each, too
			files *= 2
		case by.By == "unbound":
			files += scenario.FilesOfNames
		}
		most = max(most, files+scenario.FilesOfProgram)
	}
	return most
}

// servedMemory is what programs and the connections to them take, in bytes.
func (s Summary) servedMemory() (all int64) {
	for name, connections := range s.Served {
		t := takes(s.by[name].By)
		all += t.program + connections*t.served
	}
	return all
}
