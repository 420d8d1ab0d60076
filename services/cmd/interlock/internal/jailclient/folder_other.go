//go:build !unix

package jailclient

func writeFolder(string, string) {}
