package lab

import "github.com/heddle-network/heddle"

// SetPort cuts a host from the switch, or joins it again: its eth0 loses the
// carrier as if the cable were pulled, and keeps its addresses.
func (l *Lab) SetPort(host string, up bool) error {
	h, err := l.Host(host)
	if err != nil {
		return err
	}
	if h == l.Switch {
		return bad("port", host, "name one of the hosts")
	}
	if l.Switch == nil || !l.Switch.Alive() {
		return heddle.Errorf(heddle.NoLab, "switch a port of", l.Name, "the lab is not up")
	}
	sw, err := l.Switch.enter()
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "enter", SwitchName, err, "")
	}
	defer sw.Close()
	if err := sw.setPort(host, up); err != nil {
		return heddle.Wrap(heddle.LabFailed, "switch the port of", host, err, "")
	}
	return nil
}

func (s *stack) setPort(name string, up bool) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	if up {
		return s.LinkSetUp(link)
	}
	return s.LinkSetDown(link)
}
