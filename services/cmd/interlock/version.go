package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/build"
)

type versionCommand struct{ show.Printer }

func (c *versionCommand) Run(io console.Streams) error {
	from := build.Get()
	view := struct {
		Version  string `json:"version"`
		Commit   string `json:"commit,omitempty"`
		Date     string `json:"commit_date,omitempty"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
		// StoreFormat is the format of the stores that this program makes.
		StoreFormat int `json:"store_format"`
	}{from.Version, from.Commit, from.Date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, store.Format}
	return c.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "interlock %s (%s, %s)\n", view.Version, view.Go, view.Platform)
		if view.Commit != "" {
			fmt.Fprintf(w, "commit: %s of %s\n", view.Commit, cmp.Or(view.Date, "an unknown date"))
		}
		fmt.Fprintf(w, "store: makes format %d, reads %s\n", view.StoreFormat, store.KnownFormats())
	})
}
