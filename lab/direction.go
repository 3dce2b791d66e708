package lab

// Direction is one of the two directions of a wire, or both.
type Direction string

// Directions of a wire, as its host sees it.
const (
	Both Direction = "both"
	Out  Direction = "out" // what the host sends
	In   Direction = "in"  // what it receives
)

func (d Direction) check() error {
	if d != Both && d != Out && d != In {
		return refuse("set direction", string(d), "a wire has no such direction", "choose both, out or in")
	}
	return nil
}
