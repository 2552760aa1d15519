// Command sextant-etcd is etcd's own server, at the version that Sextant is tried with, for
// those who have Go and no etcd: for examples and trials. In production take the etcd of your distribution.
// It takes etcd's flags: sextant-etcd --help.
//
// It is a module of its own, so that the server's packages are no part of the crawler.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
