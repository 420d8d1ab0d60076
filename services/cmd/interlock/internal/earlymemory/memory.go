// Package earlymemory is initialised before the rest of the program, and after packages early and earlyjail, which do without
// it: package runtime/debug is initialised late. It puts the collection of garbage off for commands that are over soon.
//
// Only the program's main may import it.
package earlymemory

import (
	"os"
	"runtime/debug"
	"time"
)

// Most commands are over before they have allocated what this percentage allows, and
// collecting garbage would be a quarter of their work. Commands that last, such as
// mcp, soon go back to Go's default. `up` tunes its memory itself.
const (
	gcPercent        = 400
	defaultGCPercent = 100
	soon             = time.Second
)

func init() {
	if os.Getenv("GOGC") != "" || len(os.Args) > 1 && os.Args[1] == "up" {
		return
	}
	debug.SetGCPercent(gcPercent)
	time.AfterFunc(soon, func() { debug.SetGCPercent(defaultGCPercent) })
}
