package console

import (
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// dist is what `make console` builds of console/.
//
//go:embed all:dist
var dist embed.FS

// types of what pages consist of. The types that the machine knows differ from one to
// the next.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

// serveFile serves a file of the console, and its one page for every other path: the page
// finds out what it is to show.
func serveFile(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refuse(w, http.StatusNotFound, "NOT_FOUND", "pages are only read; changes go to "+Path+apiPrefix)
		return
	}
	name := strings.TrimPrefix(path.Clean(r.URL.Path), Path)
	name = strings.TrimPrefix(name, "/")
	asset := strings.HasPrefix(name, "assets/")
	text, err := fs.ReadFile(dist, "dist/"+name)
	switch {
	case name == "" || errors.Is(err, fs.ErrNotExist) && !asset || err != nil && !errors.Is(err, fs.ErrNotExist):
		name = "index.html"
		text, err = fs.ReadFile(dist, "dist/"+name)
	case err == nil && asset: // its name has its digest
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if err != nil {
		refuse(w, http.StatusNotFound, "NOT_FOUND", "the console has no such file; reload the page")
		return
	}
	w.Header().Set("Content-Type", types[path.Ext(name)])
	_, _ = w.Write(text) // the client went away: nobody to tell
}
