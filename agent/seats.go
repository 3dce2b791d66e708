package agent

// slots hands out ordinals, the lowest free one first.
type slots struct {
	used []bool
	from int // no slot below is free
}

func (s *slots) take() int {
	for i := s.from; i < len(s.used); i++ {
		if !s.used[i] {
			s.used[i], s.from = true, i+1
			return i
		}
	}
	s.used = append(s.used, true)
	s.from = len(s.used)
	return len(s.used) - 1
}

func (s *slots) mark(i int) {
	for len(s.used) <= i {
		s.used = append(s.used, false)
	}
	s.used[i] = true
}

func (s *slots) give(i int) {
	if i < len(s.used) {
		s.used[i] = false
		s.from = min(s.from, i)
	}
}
