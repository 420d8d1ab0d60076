//go:build !unix

// Package earlyhook does nothing here: it needs unix sockets.
package earlyhook
