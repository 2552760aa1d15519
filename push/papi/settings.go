// Package papi is the push target that speaks version 4 of the Exalead CloudView
// Push API.
//
// What the vendor's documents leave open is chosen here and kept behind one
// setting each: SyncParameter, StampPart, Stamp, ClassPart with Class, and
// DeletionsInURL. In its URI, each document has its URL. Its metas are title,
// lastmodifieddate (RFC 3339), publicUrl, language, file_name, file_size (where
// content is pushed) and source, and then all of Document.Metas, of which those
// with one of these names count only where the document itself leaves it empty.
//
// The master part is the content of the page where the crawl was asked for it,
// with its own Content-Type, charset and file name; otherwise the extracted text,
// as text/plain in UTF-8.
//
// All requests may be repeated, and are: an add replaces a document of the same
// URI, deleting twice is deleting, a checkpoint is set to the same value again,
// and the others only read.
package papi

import (
	"cmp"
	"time"

	"github.com/sextant-crawler/sextant/push/wire"
)

// Stamp is the source of a document's stamp.
type Stamp uint8

// The kinds of stamps. A document without a hash is stamped by its sequence
// number in any case.
const (
	StampHash Stamp = iota // the hash of the content: the same for an unchanged page
	StampSeq               // the sequence number of the entry: never the same
)

// Settings of a papi target. Zero values stand for the defaults in brackets.
type Settings struct {
	Name      string // of the target ["papi"]
	Connector string // the connector on the server, which must exist there

	Server wire.Settings // its URL is http(s)://HOST:PORT; 10002 is the usual port

	CheckpointName string // PAPI_name; one for each crawler that pushes to a connector ["sextant"]
	SyncParameter  string // asks set_checkpoint for a sync ["PAPI_sync"]
	Stamp          Stamp  // [hash]
	StampPart      string // ["stamp"]
	Class          string // data model class of all documents; none is sent if empty
	ClassPart      string // ["directive:datamodel_class"]
	DeletionsInURL bool   // PAPI_uri in the query of delete_documents instead of its body

	SyncTimeout   time.Duration // for a checkpoint to be read back [10 min]
	SyncFirstPoll time.Duration // before it is read again the first time; doubled up to 64 times that [50 ms]
}

func (s *Settings) setDefaults() {
	s.Name = cmp.Or(s.Name, "papi")
	s.CheckpointName = cmp.Or(s.CheckpointName, "sextant")
	s.SyncParameter = cmp.Or(s.SyncParameter, "PAPI_sync")
	s.StampPart = cmp.Or(s.StampPart, "stamp")
	s.ClassPart = cmp.Or(s.ClassPart, "directive:datamodel_class")
	span := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	span(&s.SyncTimeout, 10*time.Minute)
	span(&s.SyncFirstPoll, 50*time.Millisecond)
}
