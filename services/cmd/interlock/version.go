package main

import (
	"fmt"
	"runtime"
	"text/tabwriter"
)

type versionCommand struct{ formatFlag }

func (c *versionCommand) Run(io streams) error {
	view := struct {
		Version  string `json:"version"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return c.print(io.out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "interlock %s (%s, %s)\n", view.Version, view.Go, view.Platform)
	})
}
