// Package document is the JSON of Interlock: an immutable tree that keeps numbers exactly
// as written and keys in their order, a strict parser for untrusted text, pointers,
// equality, digests, JSON Schema, and the problems that a document can have (S1, S10,
// S12).
//
// It is pure: bytes in, values out. It must never read a file, open a
// connection, look at the clock, log, or follow a reference out of the document
// it was given. Everything in it is safe for concurrent use.
package document
