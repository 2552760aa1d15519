// Package config reads CrawlConfig.xml into the settings of the packages that obey it.
//
// The file is read strictly: whatever is unknown, misplaced, out of range or
// not done by this version is reported with file, line and column, all of a file
// at once. One table (see Elements) describes every element and attribute; the
// parser, docs/configuration.md and the XML schema come from it, and a row says into which
// setting its value goes.
package config
