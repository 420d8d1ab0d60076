package main

import (
	"fmt"
	"runtime"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type versionCommand struct{ show.Printer }

func (c *versionCommand) Run(io console.Streams) error {
	view := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return c.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "interlock %s (%s, %s)\n", view.Version, view.Go, view.Platform)
	})
}
