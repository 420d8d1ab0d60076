// Package jailertest tries to get out of jails, and runs real command lines and projects in them.
//
// Each test runs in a pen: a root of its own in namespaces of its own, in which the home, the
// workspace, services, processes and keys are canaries. A jail that fails can harm only the pen.
package jailertest
