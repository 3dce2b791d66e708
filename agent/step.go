package agent

// tripwire is called before every step that changes something (Options.Tripwire); nil for
// none.
type tripwire func(step string) error

// step is called before the named step; an error stops the operation there.
func (t tripwire) step(name string) error {
	if t == nil {
		return nil
	}
	return t(name)
}
