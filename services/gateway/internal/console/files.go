package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// dist is the output of `make console` of console/.
//
//go:embed all:dist
var dist embed.FS

// types of the files of pages. The types that the machine knows differ from one to the
// next.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
}

// serveFile serves a file of the console, and its one page for every other path: the page
// finds out its own view.
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
	w.Header().Add("Vary", "Accept-Encoding")
	if acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		text = squeezed(name, text)
	}
	_, _ = w.Write(text) // the client went away: no reader is left
}

// acceptsGzip reports whether the client can read gzip. Browsers list readable encodings;
// one that refuses gzip by a weight of zero gets the plain text.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.TrimSpace(name) == "gzip" {
			return strings.Trim(strings.TrimSpace(weight), "q=0.") != "" || weight == ""
		}
	}
	return false
}

// small are the files as gzip has them, by name. There are a few dozen, and they never change.
var small sync.Map

// squeezed returns a file as gzip has it.
func squeezed(name string, text []byte) []byte {
	if done, ok := small.Load(name); ok {
		return done.([]byte)
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(text)                                  // a buffer takes all
	_ = w.Close()
	small.Store(name, b.Bytes())
	return b.Bytes()
}
