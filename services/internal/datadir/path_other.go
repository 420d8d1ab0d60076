//go:build !unix

package datadir

import "path/filepath"

// IsAbs reports whether a path is absolute.
func IsAbs(name string) bool                   { return filepath.IsAbs(name) }
func join(elements ...string) string           { return filepath.Join(elements...) }
func parentOf(name string) string              { return filepath.Dir(name) }
func base(name string) string                  { return filepath.Base(name) }
func clean(name string) string                 { return filepath.Clean(name) }
func absolute(name string) (string, error)     { return filepath.Abs(name) }
func withoutLinks(name string) (string, error) { return filepath.EvalSymlinks(name) }
