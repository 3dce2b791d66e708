package plan

import "github.com/heddle-network/heddle/crowd/scenario"

// What programs that answer for services take.
const (
	// spareOfProgram: one connection more for each so many. A process of nginx of which fewer than one in 16 is free closes some that are kept
	// (ngx_drain_connections).
	spareOfProgram = 14
	// perProgram is the memory of a program that answers for a service, in bytes: its contents, and its processes. Measured
	// of nginx 1.22 with two workers: 16 MiB and 6 MB.
	perProgram = 24 << 20
	// perServed is what a connection to a program takes at both ends beside its sockets, in bytes. Measured of hundreds that
	// were kept, with nginx 1.22: 2 KB over HTTP, 62 KB with TLS, 102 KB over HTTP/2, most of it this program's.
	perServed = 100 << 10
)

// mostServed is how many files a process of a program needs at most; 0 if there is no program.
func (s Summary) mostServed() (most int64) {
	for _, connections := range s.Served {
		most = max(most, connections+connections/spareOfProgram+scenario.FilesOfProgram)
	}
	return most
}

// servedMemory is what programs and the connections to them take, in bytes.
func (s Summary) servedMemory() (all int64) {
	for _, connections := range s.Served {
		all += perProgram + connections*perServed
	}
	return all
}
