package redact

// Flags say which secrets are masked. The zero value is the defaults.
type Flags struct {
	MaskKeys    []string `help:"Parts of names of input members that the decision log and messages to people mask; replaces the defaults." env:"INTERLOCK_MASK_KEYS" placeholder:"NAME"`
	MaskPattern []string `help:"Regular expressions of text that the decision log and messages to people mask; replace the defaults. May be repeated." env:"INTERLOCK_MASK_PATTERN" sep:"none" placeholder:"REGEXP"`
}

// Masks returns the masks of the flags, or the defaults for those that are not set.
func (f Flags) Masks() (Masks, error) {
	keys, patterns := f.MaskKeys, f.MaskPattern
	if keys == nil {
		keys = DefaultNames()
	}
	if patterns == nil {
		patterns = DefaultPatterns()
	}
	return New(keys, patterns)
}
