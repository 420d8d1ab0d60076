package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// noEtcd is said instead of the comparison with etcd.
const noEtcd = "etcd is not installed, so nothing is compared with it: install it with `apt-get install etcd-server`"

// hasEtcd reports whether the comparison with etcd is possible.
func hasEtcd() bool {
	_, err := exec.LookPath("etcd")
	return err == nil
}

// etcdPatience is how long etcd may take to elect itself.
const etcdPatience = 20 * time.Second

// etcd is a running server of one member, with its usual settings: each write is synced.
type etcd struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	addr   string
}

// startEtcd starts a server whose files are in dir, on free ports of this machine.
func startEtcd(ctx context.Context, dir string) (*etcd, error) {
	clients, err := freeAddress()
	if err != nil {
		return nil, err
	}
	peers, err := freeAddress()
	if err != nil {
		return nil, err
	}
	e := &etcd{addr: clients}
	e.cmd = exec.Command("etcd", "--name", "bench", "--data-dir", filepath.Join(dir, "etcd"),
		"--listen-client-urls", "http://"+clients, "--advertise-client-urls", "http://"+clients,
		"--listen-peer-urls", "http://"+peers, "--initial-advertise-peer-urls", "http://"+peers,
		"--initial-cluster", "bench=http://"+peers)
	// Commands of a thread that ends take their child with them; main locks its thread.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	e.cmd.Stdout, e.cmd.Stderr = &e.output, &e.output
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	if err := e.ready(ctx); err != nil {
		return nil, errors.Join(err, e.stop(), fmt.Errorf("etcd printed: %s", e.output.Bytes()))
	}
	return e, nil
}

// ready waits until a swap is answered.
func (e *etcd) ready(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, etcdPatience)
	defer cancel()
	conn, err := e.dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	swap, err := swaps(ctx, pool{conn}, "ready", 1)(0)
	if err != nil {
		return err
	}
	for {
		if err = swap(); err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("etcd is not ready: %w", err)
		}
	}
}

func (e *etcd) dial() (*grpc.ClientConn, error) {
	return grpc.NewClient(e.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// stop ends the server and waits for it. How it ends is of no interest: its data goes too.
func (e *etcd) stop() error {
	if e == nil {
		return nil
	}
	err := e.cmd.Process.Kill()
	_ = e.cmd.Wait() // it says that it was killed
	return err
}

// freeAddress returns one that was free a moment ago.
func freeAddress() (string, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return lis.Addr().String(), lis.Close()
}
