package stage

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// startPrograms starts the programs that answer for services, once everybody has an address: they answer users alone, and the
// request from their own addresses that shows that they are ready.
func (s *Stage) startPrograms(ctx context.Context) error {
	var admits []netip.Addr
	for _, u := range s.users {
		admits = append(admits, u.Addrs...)
	}
	var authority *program.Authority
	for _, name := range scenario.Sorted(s.options.Services) {
		of := s.options.Services[name]
		if of.By == "" {
			continue
		}
		if of.TLS && authority == nil {
			var err error
			if authority, err = program.NewAuthority(); err != nil {
				return heddle.Wrap(heddle.CrowdFailed, "make certificates for", "a crowd", err, "report it")
			}
		}
		set := program.Setting{Service: name, Host: cmp.Or(s.Services[name].Name, "crowd-"+name), Addrs: s.Services[name].Addrs, Admits: slices.Concat(admits, s.Services[name].Addrs),
			Upstreams: s.Services[name].Resolvers, Connections: s.options.Connections[name], Files: mayOpen(), Seed: s.options.Seed, HTTP: of.HTTP}
		if of.TLS {
			set.Authority = authority
		}
		if err := s.startProgram(ctx, of.By, set); err != nil {
			return err
		}
	}
	s.askNames()
	return nil
}

// askNames has users ask the program that answers questions for names, if there is one.
func (s *Stage) askNames() {
	names, has := s.Services[scenario.Names]
	if !has {
		return
	}
	for i := range s.users {
		s.users[i].Resolvers = names.Addrs
	}
}

// mayOpen is how many files a process may have open at most.
func mayOpen() int64 {
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) != nil || files.Max >= 1<<62 {
		return 0
	}
	return int64(files.Max)
}

func (s *Stage) startProgram(ctx context.Context, by string, set program.Setting) error {
	found, err := program.Find(by)
	if err != nil {
		return err
	}
	seat := s.Services[set.Service]
	runs, speaks, err := found.Prepare(set)
	if err == nil {
		runs.Nice = s.options.Nice
		p := &programServer{round: ctx, program: runs, seat: seat, speaks: speaks, ended: func(how string) {
			if s.options.Ended != nil {
				s.options.Ended(set.Service, by+" ended: "+how)
			}
		}}
		s.servers[set.Service] = p
		err = p.start(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "start "+by+" for service", set.Service, err, "see the program's own words")
	}
	seat.Speaks = speaks
	s.Services[set.Service] = seat
	return nil
}
