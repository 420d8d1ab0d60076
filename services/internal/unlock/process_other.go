//go:build !linux

package unlock

import (
	"errors"
	"net"
)

var errSystem = errors.New("this system does not say which process asks, so a terminal cannot be unlocked: run `interlock console`, " +
	"log in and decide there; programs give INTERLOCK_TOKEN")

func peerOf(net.Conn) (pid, uid int, err error) { return 0, 0, errSystem }

func lives(net.Conn) error { return errSystem }

func look(int) (process, error) { return process{}, errSystem }

// Wait returns at once.
func (t Terminal) Wait() {}

func ownFolder(string) error { return errSystem }

// Supported reports whether this system says which process asks.
func Supported() error { return errSystem }
