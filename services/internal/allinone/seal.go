package allinone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/daemon"
	"github.com/interlock-run/interlock/services/internal/datadir"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/seal"
	"github.com/interlock-run/interlock/services/internal/storeseal"
)

// deciding are the kinds of the records that people or operators make, and that decide. The seal remembers the newest of each
// beyond a restart (S24.13).
var deciding = []string{
	"person", "policy", "policy_index", "workflow_shadow", "halts", "workflow", "workflow_claim", "schema", "schema_index", "agent", "binding",
	ledger.KindLease, "approval", "approval_batch", "upstream_tools", "tool_descriptions",
}

// decides reports whether records of a kind decide.
func decides(kind string) bool { return slices.Contains(deciding, kind) }

// Unsealed refuses a data folder that was sealed, and has no seal: another program has removed it.
func Unsealed(data datadir.Dir) error {
	for _, file := range []string{data.TokenKey(), data.ReceiptKey(), data.Tokens()} {
		if seal.Sealed(file) {
			return fmt.Errorf("%s is sealed, and the seal %s is gone: put that file back from a backup (docs/backup.md)", file, data.Seal())
		}
	}
	return nil
}

// sealing returns the settings of a sealed store; nil without a seal. It opens the mark, and makes one with a new store.
func (c *Server) sealing() (*storeseal.Config, error) {
	box := c.cfg.Seal
	if box == nil {
		return nil, Unsealed(c.cfg.Data)
	}
	if c.cfg.WithoutPresence {
		return nil, errors.New("a seal protects decisions of people, and without presence tokens in the data folder decide: start without --presence none")
	}
	mark, err := seal.OpenMark(c.cfg.Data.Mark(), c.cfg.Data.MarkTwin(), box)
	if _, missing := os.Stat(c.cfg.Data.Database()); errors.Is(err, seal.ErrNoMark) && errors.Is(missing, fs.ErrNotExist) && !seal.Sealed(c.cfg.Data.Tokens()) {
		mark, err = seal.MakeMark(c.cfg.Data.Mark(), c.cfg.Data.MarkTwin(), box)
	}
	if err != nil {
		return nil, err
	}
	c.onClose(mark.Close)
	box.Remember(mark)
	if last := mark.Last(); !last.IsZero() {
		c.Notes = append(c.Notes, fmt.Sprintf("the seal is open. What decides was changed last at %s: if you know of a later change, another program has put an older copy of the folder back",
			last.Local().Format("2006-01-02 15:04:05")))
	}
	return &storeseal.Config{Key: box.Key("records"), Mark: mark, Decides: decides, Log: c.cfg.Logger}, nil
}

// marked has a sealed store say that it is one, and refuses to serve one whose seal is not there.
func (c *Server) marked(ctx context.Context, st store.Store) error {
	c.sealed = daemon.SealOf(st)
	record, err := st.Get(ctx, storeseal.Marker())
	switch {
	case errors.Is(err, store.ErrNotFound) && c.sealed == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		_, err = st.Commit(ctx, store.Batch{Puts: []store.Put{{Key: storeseal.Marker(), Expect: store.Absent, Data: []byte(c.cfg.Seal.ID())}}})
		return err
	case errors.As(err, new(*store.RolledBackError)): // it serves nothing until that is accepted, and is asked again then
		st.Gate().OnTurn(func() {
			go func() {
				if err := c.marked(c.ctx, st); err != nil {
					c.cancel(err)
				}
			}()
		})
		return nil
	case err != nil:
		return err
	case c.sealed == nil:
		return fmt.Errorf("the store is sealed, and the seal %s is gone: put that file back from a backup (docs/backup.md)", c.cfg.Data.Seal())
	case string(record.Data) != c.cfg.Seal.ID():
		return fmt.Errorf("the store is sealed with another seal than %s", c.cfg.Data.Seal())
	}
	return nil
}

// tokensFile reads and writes the tokens file of the data folder, which is sealed where there is a seal.
type tokensFile struct {
	path string
	box  *seal.Box
}

func (f tokensFile) read() (auth.File, error) {
	if f.box == nil {
		return auth.ReadFile(f.path)
	}
	text, err := f.box.ReadFile(f.path)
	if err != nil {
		return auth.File{}, err
	}
	return auth.DecodeFile(f.path, text)
}

func (f tokensFile) write(file auth.File) error {
	if f.box == nil {
		return auth.WriteHashes(f.path, file)
	}
	text, err := file.Encode()
	if err != nil {
		return err
	}
	return f.box.WriteFile(f.path, text)
}

// source returns the tokens that count of the file.
func (f tokensFile) source(counts func(auth.Role) bool) auth.TokensFrom {
	from := auth.TokensFrom{File: f.path, Counts: counts}
	if f.box != nil {
		from.Read = f.box.ReadFile
	}
	return from
}

// another returns the tokens of a file of the user's own. With a seal, those that decide count only where programs of the user
// cannot change the file, or where it is sealed.
func (c *Server) another(path string) auth.TokensFrom {
	from := auth.TokensFrom{File: path}
	info, err := os.Stat(path)
	if err != nil || c.cfg.WithoutPresence {
		return from
	}
	open := changeable(info) || folderChangeable(path)
	switch {
	case c.cfg.Seal != nil && seal.Sealed(path):
		from.Read = c.cfg.Seal.ReadFile
	case open && c.cfg.Seal != nil:
		from.Counts = auth.Role.Local
		c.Notes = append(c.Notes, fmt.Sprintf("tokens of %s that decide do not count, because programs of your user could change the file: "+
			"seal it with `interlock data seal --file %[1]s`, or have it and its folder belong to root", path))
	case open:
		c.Notes = append(c.Notes, fmt.Sprintf("%s belongs to your user, so a program that an agent starts could add an approver to it: "+
			"have it belong to root and your group (chown root:GROUP, chmod 640)", path))
	}
	return from
}

// folderChangeable reports that the server's own user could put another file in the place of one.
func folderChangeable(path string) bool {
	info, err := os.Stat(filepath.Dir(path))
	return err == nil && changeable(info)
}
