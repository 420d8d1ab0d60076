// Package sys has the system calls that a jail's stage needs and package syscall lacks. Importing
// golang.org/x/sys/unix would make the stage wait until the rest of the program is initialised: packages
// are initialised by their import paths, and that one comes late.
package sys
