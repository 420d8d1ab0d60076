// Package below finds the settings in folders of a workspace that programs outside of a jail run or obey, such as .envrc and
// the configuration of git's repositories, and decides what becomes of those that a command has changed.
//
// A walk lists the folders that have changed since the last one, and no others: also those that git ignores, because
// package managers clone repositories into them.
package below
