// Package shield closes the memory of a process to other programs of its user (S23.4).
//
// It must never handle secrets.
package shield

import "os"

// kept names the variable by which a closed process learns the descriptor of the program that it is a copy of.
const kept = "INTERLOCK_CLOSED_SELF"

// self is this very program, also when its file was replaced.
const self = "/proc/self/exe"

// Executable returns the file of this program, also where the process runs a closed copy of it.
func Executable() (string, error) {
	if path := Self(); path != self {
		return os.Readlink(path) //nolint:wrapcheck // names the file
	}
	return os.Executable() //nolint:wrapcheck // as it is
}
