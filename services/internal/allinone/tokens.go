package allinone

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// openTokens makes the tokens of this machine's programs on the first start, and reads the tokens files.
// The server keeps hashes. With presence, tokens of people in the data folder do not count: any
// program of the same user could add one (S23.2).
func (c *Server) openTokens() (*auth.Tokens, error) {
	c.TokensFile = c.cfg.Data.Local()
	roles, counts := auth.Roles(), func(auth.Role) bool { return true }
	if !c.cfg.WithoutPresence {
		roles, counts = auth.LocalRoles(), auth.Role.Local
	}
	file := tokensFile{c.cfg.Data.Tokens(), c.cfg.Seal}
	own, notes, err := keepTokens(c.cfg.Data, file, roles, time.Now())
	if err != nil {
		return nil, err
	}
	c.Notes = append(c.Notes, notes...)
	if names := uncounted(own, counts); len(names) > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("the tokens of %s in %s do not count, because programs of your user could add such tokens: "+
			"these people log in with `interlock login`, or put their tokens into a file that belongs to root, and start `interlock up --tokens FILE`",
			strings.Join(names, ", "), c.cfg.Data.Tokens()))
	}
	sources := []auth.TokensFrom{file.source(counts)}
	if c.cfg.Tokens != "" {
		sources = append(sources, c.another(c.cfg.Tokens))
	}
	return auth.LoadSources(sources...)
}

// changeable reports that the server's own user could change a file.
func changeable(info fs.FileInfo) bool {
	uid, _, known := datadir.Owner(info)
	return known && uid != 0 && uid == os.Geteuid()
}

// uncounted returns the names of a file whose tokens do not count.
func uncounted(f auth.File, counts func(auth.Role) bool) (names []string) {
	for _, e := range f.Tokens {
		if !counts(e.Role) {
			names = append(names, e.Name)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// keepTokens has a token of each of the roles in the file of this machine's programs, and its hash in the server's.
// It makes those that are missing, hashes tokens in plain text, and removes what `interlock up` has made for
// other roles.
func keepTokens(data datadir.Dir, file tokensFile, roles []auth.Role, now time.Time) (own auth.File, notes []string, err error) {
	own, err = file.read()
	changed := errors.Is(err, fs.ErrNotExist)
	if err != nil && !changed {
		return auth.File{}, nil, err
	}
	local, err := auth.ReadFile(data.Local())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return auth.File{}, nil, fmt.Errorf("%w; remove the file, and others are made", err)
	}
	before := plainOf(local)
	kept := plainOf(own)
	maps.Copy(kept, before)
	if own.HashAll() {
		changed = true
		notes = append(notes, fmt.Sprintf("%s has only hashes of tokens now: the tokens of programs of this machine are in %s, and the others are in no file any more",
			data.Tokens(), data.Local()))
	}
	wanted := map[auth.Role]string{}
	for _, role := range roles {
		wanted[role] = kept[role]
		if e, ok := own.Find(kept[role]); ok && e.Role == role {
			continue
		}
		wanted[role] = auth.Mint()
		own.Tokens = slices.DeleteFunc(own.Tokens, func(e auth.Entry) bool { return madeHere(e) && e.Role == role })
		own.AddHash(auth.Entry{
			Name: string(role), Role: role, Namespaces: []string{string(auth.AllNamespaces)}, Created: now.UTC().Truncate(time.Second),
		}, wanted[role])
		changed = true
	}
	all := len(own.Tokens)
	own.Tokens = slices.DeleteFunc(own.Tokens, func(e auth.Entry) bool { return madeHere(e) && !slices.Contains(roles, e.Role) })
	if changed || len(own.Tokens) != all {
		if err := file.write(own); err != nil {
			return auth.File{}, nil, err
		}
	}
	if !maps.Equal(before, wanted) {
		return own, notes, auth.ReplaceFile(data.Local(), wanted)
	}
	return own, notes, nil
}

// madeHere reports that `interlock up` has made a token: the principal is named like its role.
func madeHere(e auth.Entry) bool { return e.Name == string(e.Role) }

// plainOf returns the tokens that a file has in plain text and whose principals are named like their roles.
func plainOf(f auth.File) map[auth.Role]string {
	tokens := map[auth.Role]string{}
	for _, e := range f.Tokens {
		if e.Token != "" && madeHere(e) {
			tokens[e.Role] = e.Token
		}
	}
	return tokens
}
