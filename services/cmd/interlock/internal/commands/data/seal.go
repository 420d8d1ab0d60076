package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/allinone"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/seal"
)

type sealCommand struct {
	client.SealFlags
	Data    string `name:"data-dir" help:"Data folder of the server; by default that of this workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
	Change  bool   `help:"Have another passphrase open the seal."`
	NewFile string `name:"new-passphrase-file" help:"File with the new passphrase, with --change; it is asked at the terminal by default." type:"path" placeholder:"FILE"`
	File    string `help:"Seal this file, such as the secret of webhooks or a tokens file, with the seal of the folder." type:"path" placeholder:"FILE"`
}

// Run seals a folder, or a file, or changes the passphrase.
func (c *sealCommand) Run(ctx context.Context, io console.Streams, version console.Version) error {
	if c.Change && c.File != "" || c.NewFile != "" && !c.Change {
		return console.Misusedf("give --file, or --change with or without --new-passphrase-file")
	}
	data, err := client.DataFolder(c.Data)
	if err != nil {
		return err
	}
	info, err := seal.Read(data.Seal())
	switch {
	case err != nil:
		return err
	case info == nil && (c.Change || c.File != ""):
		return fmt.Errorf("%s is not sealed: run `interlock data seal` first", data)
	case c.Change:
		return c.change(io, data)
	case c.File != "":
		return c.file(io, data)
	}
	return locked(data, func() error { return c.folder(ctx, io, data, info != nil, string(version)) })
}

// locked does work while no server uses the folder.
func locked(data datadir.Dir, work func() error) error {
	unlock, err := data.Lock()
	if err != nil {
		return err
	}
	return errors.Join(work(), unlock())
}

// change has another passphrase open the seal.
func (c *sealCommand) change(io console.Streams, data datadir.Dir) error {
	words, err := c.Passphrase("passphrase of the seal: ")
	if err != nil {
		return err
	}
	next, err := client.SealFlags{SealPassphraseFile: c.NewFile}.NewPassphrase()
	if err != nil {
		return err
	}
	if err := seal.Change(data.Seal(), words, next); err != nil {
		return err
	}
	fmt.Fprintf(io.Out, "the new passphrase opens the seal of %s. A copy of the old file still opens with the old one: to have other keys, run `interlock data unseal` and `interlock data seal`\n", data)
	return nil
}

// file seals a file.
func (c *sealCommand) file(io console.Streams, data datadir.Dir) error {
	text, err := auth.ReadSecret(c.File)
	if err != nil {
		return err
	}
	box, err := c.OpenSeal(data)
	if err != nil {
		return err
	}
	if err := box.WriteFile(c.File, text); err != nil {
		return err
	}
	fmt.Fprintf(io.Out, "sealed %s: a server with the seal of %s opens it, under this name\n", c.File, data)
	return nil
}

// folder seals a data folder, or goes on where that was interrupted.
func (c *sealCommand) folder(ctx context.Context, io console.Streams, data datadir.Dir, has bool, version string) error {
	if _, err := auth.FileToken(data.Local(), auth.Operator); err == nil {
		return fmt.Errorf("%s has tokens of operators, which decide: start the server once without --presence none, and seal the folder then", data.Local())
	}
	box, err := c.box(ctx, data, has, version)
	if err != nil {
		return err
	}
	if has {
		mark, err := seal.OpenMark(data.Mark(), data.MarkTwin(), box)
		if err == nil {
			fmt.Fprintf(io.Out, "%s is sealed already; --change has another passphrase open it\n", data)
			return mark.Close()
		}
		if !errors.Is(err, seal.ErrNoMark) {
			return err
		}
	}
	if err := sealStore(ctx, data, box, version); err != nil {
		return err
	}
	for _, file := range secrets(data) {
		text, err := auth.ReadSecret(file)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, auth.ErrSealed) {
			continue
		}
		if err == nil {
			err = box.WriteFile(file, text)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(io.Out, "sealed %s\n", filepath.Base(file))
	}
	mark, err := seal.MakeMark(data.Mark(), data.MarkTwin(), box)
	if err != nil {
		return err
	}
	box.Remember(mark)
	fmt.Fprintf(io.Out, "%s is sealed. `interlock up` asks for the passphrase at its start. Keep it: without it, the folder cannot be used\n", data)
	return mark.Close()
}

// box returns the seal of the folder, open, which is made where there is none.
func (c *sealCommand) box(ctx context.Context, data datadir.Dir, has bool, version string) (*seal.Box, error) {
	if has {
		return c.OpenSeal(data)
	}
	if err := allinone.Unsealed(data); err != nil {
		return nil, err
	}
	if is, err := storeSealed(ctx, data, version); err != nil || is {
		return nil, cmp.Or(err, fmt.Errorf("the store is sealed, and the seal %s is gone: put that file back from a backup (docs/backup.md)", data.Seal()))
	}
	words, err := c.NewPassphrase()
	if err != nil {
		return nil, err
	}
	return seal.Make(data.Seal(), words)
}

// secrets returns the files of a folder that are sealed.
func secrets(data datadir.Dir) []string {
	return []string{data.TokenKey(), data.ReceiptKey(), data.Tokens()}
}

type unsealCommand struct {
	client.SealFlags
	Data string `name:"data-dir" help:"Data folder of the server; by default that of this workspace." env:"INTERLOCK_DATA" type:"path" placeholder:"DIR"`
}

// Run takes the seal from a folder. It refuses records that another program has written.
func (c *unsealCommand) Run(ctx context.Context, io console.Streams, version console.Version) error {
	data, err := client.DataFolder(c.Data)
	if err != nil {
		return err
	}
	return locked(data, func() error {
		box, err := c.OpenSeal(data)
		if err == nil && box == nil {
			err = fmt.Errorf("%s is not sealed", data)
		}
		if err != nil {
			return err
		}
		if err := unsealStore(ctx, data, box, string(version)); err != nil {
			return err
		}
		for _, file := range secrets(data) {
			if !seal.Sealed(file) {
				continue
			}
			text, err := box.ReadFile(file)
			if err == nil {
				err = auth.PutSecret(file, text)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(io.Out, "unsealed %s\n", filepath.Base(file))
		}
		for _, file := range []string{data.MarkTwin(), data.Mark(), data.Seal()} {
			if file == "" {
				continue
			}
			if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove the seal: %w", err)
			}
		}
		fmt.Fprintf(io.Out, "%s is not sealed any more\n", data)
		return nil
	})
}
