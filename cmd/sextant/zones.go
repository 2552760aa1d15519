//go:build zones

package main

// The container's image has no time zone files, so the program embeds them. Go's own tag timetzdata embeds them too,
// but as a dependency of package time, so that nearly all packages are compiled again.
import _ "time/tzdata"
