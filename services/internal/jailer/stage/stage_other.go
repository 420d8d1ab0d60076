//go:build !linux

package stage

// Main runs the stage where this process is one, and does not return then.
func Main() {}
