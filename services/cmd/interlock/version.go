package main

import (
	"fmt"
	"runtime"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type versionCommand struct{ show.Printer }

func (c *versionCommand) Run(io console.Streams) error {
	view := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
		// StoreFormat is the format of the stores that this program makes.
		StoreFormat int `json:"store_format"`
	}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, store.Format}
	return c.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "interlock %s (%s, %s)\n", view.Version, view.Go, view.Platform)
		fmt.Fprintf(w, "store: makes format %d, reads %s\n", view.StoreFormat, store.KnownFormats())
	})
}
