package ping

// Advise says what to look at next if nothing was answered. Denied is what the policies say against it, "" if nothing.
func Advise(p Path, f Facts, denied string) (all []string) {
	if denied != "" {
		all = append(all, "a policy refuses it: "+denied+" ('heddle flows' shows what is refused)")
	}
	switch {
	case p.Where == OtherHost && p.State != "up":
		all = append(all, "the path to "+p.Host+" is "+p.State+": see 'heddle peer show "+p.Host+"'")
	case p.Where == OtherHost:
		all = append(all, "ask "+p.Host+", too, with 'heddle check'")
	case f.End != nil && p.By == Stack && !Joined(f.From.Network, f.End.Network):
		all = append(all, "the networks are not joined: 'heddle network allow "+f.From.Network.Name+" "+f.End.Network.Name+"' joins them")
	case p.Where == Nowhere:
		all = append(all, "nobody is to be expected there: "+p.Text)
	case p.Where == OtherVPC || p.Where == Outside && p.Masqueraded == Unknown:
		all = append(all, "see 'heddle vpc list' for the ways of VPCs")
	}
	return append(all, "compare the endpoint with the kernel with 'heddle check "+p.From.String()+"'")
}
