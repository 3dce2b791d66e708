package agent

// tripwire is called before every step that changes something (Options.Tripwire); nil means none.
type tripwire func(step string) error

// step calls the tripwire before the named step. If it fails, the operation stops there.
func (t tripwire) step(name string) error {
	if t == nil {
		return nil
	}
	return t(name)
}
