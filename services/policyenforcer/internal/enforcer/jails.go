package enforcer

// Jails says whether command lines run in jails.
type Jails string

// The values of Jails.
const (
	// JailsAuto uses the jail that a caller has.
	JailsAuto Jails = "auto"
	// JailsRequired denies a line that a state judges and that would run without a jail.
	JailsRequired Jails = "required"
	// JailsOff uses none: a call that needs one is denied.
	JailsOff Jails = "off"
)
