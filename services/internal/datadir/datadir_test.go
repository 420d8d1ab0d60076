package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	d := datadir.Dir("/data/x/") // a slash at the end has no effect
	for got, want := range map[string]string{
		d.Database(): "/data/x/interlock.db", d.NATS(): "/data/x/nats",
		d.Tokens(): "/data/x/tokens.json", d.TokenKey(): "/data/x/token.key", d.Socket(): "/data/x/hook.sock",
		d.GRPCSocket(): "/data/x/grpc.sock",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := datadir.Dir("/" + strings.Repeat("d", 100)).Socket(); got != "" {
		t.Errorf("a socket that no system can have: %s", got)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := datadir.Dir("x").Socket(), filepath.Join(wd, "x", "hook.sock"); len(want) < 100 && got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMake(t *testing.T) {
	t.Parallel()
	d := datadir.Dir(filepath.Join(t.TempDir(), "a", "b"))
	for range 2 {
		if err := d.Make(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(string(d))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	for _, file := range []string{".gitignore", ".ignore"} { // of git, and of searches
		if ignored, err := os.ReadFile(filepath.Join(string(d), file)); err != nil || string(ignored) != "*\n" {
			t.Errorf("git would take the tokens: %q, %v", ignored, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := datadir.Dir(file).Make(); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("err = %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	d := datadir.Dir(t.TempDir())
	if got, err := d.ReadEndpoints(); err != nil || got != (datadir.Endpoints{}) {
		t.Fatalf("nothing recorded: %+v, %v", got, err)
	}
	want := datadir.Endpoints{HTTP: "http://127.0.0.1:1", GRPC: "127.0.0.1:2", GRPCSocket: "/g", NATS: "nats://127.0.0.1:3", Socket: "/s", PID: 4}
	for range 2 {
		if err := d.WriteEndpoints(want); err != nil {
			t.Fatal(err)
		}
		if got, err := d.ReadEndpoints(); err != nil || got != want {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	file := filepath.Join(string(d), "endpoints.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(string(d)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	d.RemoveEndpoints()
	if got, err := d.ReadEndpoints(); err != nil || got != (datadir.Endpoints{}) {
		t.Errorf("removed: %+v, %v", got, err)
	}
	if err := os.WriteFile(file, []byte(`{"grpc": "127.0.0.1:2"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := d.ReadEndpoints(); err == nil || got != (datadir.Endpoints{}) {
		t.Errorf("half a file: %+v, %v", got, err)
	}
	if err := datadir.Dir(filepath.Join(string(d), "none")).WriteEndpoints(want); err == nil {
		t.Error("written to a folder that does not exist")
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	used := func(folder string) string {
		d := datadir.Dir(filepath.Join(folder, datadir.Default))
		if err := d.Make(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.Tokens(), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		return string(d)
	}
	expect := func(want string) {
		t.Helper()
		for _, start := range []string{deep, deep + "/"} {
			if got, err := datadir.Find(start); err != nil || (got != "") != (want != "") || want != "" && filepath.Clean(string(got)) != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		}
	}
	expect("")
	top := used(root)
	expect(top)
	// A folder that no server has used is not one.
	if err := os.MkdirAll(filepath.Join(root, "a", "b", datadir.Default), 0o700); err != nil {
		t.Fatal(err)
	}
	expect(top)
	expect(used(filepath.Join(root, "a")))
	expect(used(deep))
	for _, start := range []string{"/", ""} {
		if got, err := datadir.Find(start); got != "" || err != nil {
			t.Errorf("above %q: %s, %v", start, got, err)
		}
	}
}

func TestNotServed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	workspace := datadir.Dir(filepath.Join(root, datadir.Default))
	if err := workspace.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(workspace.Tokens(), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		string(workspace): "start `interlock up` in " + root,
		root:              "give --data-dir " + string(workspace),
		root + "/else":    "start `interlock up --data-dir " + root + "/else`",
		"/.interlock":     "start `interlock up` in /",
	} {
		if got := datadir.Dir(dir).NotServed(); got != "no server runs in "+dir+": "+want {
			t.Errorf("of %s: %s", dir, got)
		}
	}
}

func TestServed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := datadir.Dir(filepath.Join(root, datadir.Default))
	below := filepath.Join(root, "a", "b")
	if got := datadir.Served(below); got != "" {
		t.Errorf("without a server: %s", got)
	}
	if err := errors.Join(dir.Make(), os.WriteFile(dir.Tokens(), []byte("{}"), 0o600), dir.WriteEndpoints(datadir.Endpoints{GRPC: "127.0.0.1:1"})); err != nil {
		t.Fatal(err)
	}
	if got := datadir.Served(below); got != dir {
		t.Errorf("got %s, want %s", got, dir)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	d := datadir.Dir(t.TempDir())
	unlock, err := d.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.WriteEndpoints(datadir.Endpoints{PID: 42}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lock(); err == nil || !strings.Contains(err.Error(), "process 42") || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("taken twice: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = d.Lock()
	if err != nil {
		t.Fatalf("not free after unlock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Dir(filepath.Join(string(d), "none")).Lock(); err == nil {
		t.Error("a folder that does not exist is locked")
	}
}
