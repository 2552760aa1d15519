// Package processes lists the descendants of a process. Processes that read documents and render pages are watched, and
// ended, together with everything they started.
package processes
