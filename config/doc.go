// Package config reads CrawlConfig.xml into the settings of the packages that use them.
//
// The file is read strictly: everything that is unknown, misplaced, out of range or not supported by this version is
// reported with file, line and column, for the whole file at once. One table (see Elements) describes every element and
// attribute; the parser, docs/configuration.md and the XML schema are derived from it, and each row names the setting
// for its value.
package config
