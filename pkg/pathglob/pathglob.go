// Package pathglob names files relative to a workspace and matches those names
// against patterns (S3.8, S4.1).
//
// It is pure: it uses only names and never asks a file system. A caller that has
// one resolves links, and gives every name of a file. It must never answer
// "inside" for a name that leaves the workspace.
package pathglob
