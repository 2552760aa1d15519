// Package processes tells which processes have come from one: those that read documents and
// render pages are watched, and ended, with all that they started.
package processes
