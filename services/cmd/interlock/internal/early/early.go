// Package early is initialised before the rest of the program. It answers
// `interlock hook` and ends the process.
//
// The whole program takes ten times as long to initialise as a hook takes to be
// answered: compiled schemas, expression environments, metrics and servers that
// a hook never uses. Go initialises packages in the order of their import paths
// as soon as what they import is initialised (the language specification,
// "Program initialization"), so this package, which imports little, comes before
// those. Only the program's main may import it.
package early
