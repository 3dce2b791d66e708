package scenario

// Unlike says which key of a step the service's program cannot be true to, and why; "" if it can be. Mail is read over IMAP, where a request
// has no message, and sent by SMTP, where an answer says yes or no, and where nobody reads.
func (s Service) Unlike(does Action, sends, receives int64, opens int, keep bool) (key, why string) {
	switch own := does == SendsMail; {
	case s.By == "" || does.Service() != SendsMail.Service():
	case !own && sends > MaxHead:
		return "sends", "by " + s.By + ", a request has 4KiB at most, but for mail.send"
	case own && receives > MaxHead:
		return "receives", "by " + s.By + ", an answer to mail.send has 4KiB at most"
	case own && opens == 0:
		return "connections", "by " + s.By + ", mail is sent over a connection of its own"
	case own && keep:
		return "keep", "by " + s.By + ", no other step can use a connection of mail.send"
	}
	return "", ""
}

// checkMail refuses what a program cannot be true to.
func (s *Scenario) checkMail() *problem {
	for _, does := range Sorted(s.Behaviours) {
		for _, name := range Sorted(s.Behaviours[does].States) {
			state := s.Behaviours[does].States[name]
			most := max(state.Receives.most(), state.More.Receives.most())
			key, why := s.Services[state.Do.Service()].Unlike(state.Do, int64(state.Sends.most()), int64(most), state.Opens(), state.Keep)
			if why != "" {
				return wrong(why+"; change it, or take by out of service mail", "behaviours", does, "states", name, key)
			}
		}
	}
	return nil
}
