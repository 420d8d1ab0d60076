//go:build unix

package jailclient

import "golang.org/x/sys/unix"

// number returns that of a signal by its name without SIG; 0 for none.
func number(name string) int { return int(unix.SignalNum("SIG" + name)) }
