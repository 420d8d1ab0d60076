// Package earlyjail is initialised before the rest of the program, and after package early. It runs the replacement that
// hooks make for a command line, and ends the process: the command does not wait for unused packages.
//
// Only the program's main may import it.
package earlyjail
