// Package indexer is the small real receiver behind "sextant indexer": it takes
// documents over the Exalead CloudView Push API v4 (PAPI), Elasticsearch's _bulk and
// the webhook's JSON Lines, keeps them in one embedded Bleve index and answers searches
// on a page. It is meant for trials and tests, and is an independent reader of the
// protocols: it imports no other package of the project.
//
// Server.Run has one goroutine beside net/http's, and waits for it. One lock guards the
// sessions, the connectors and what was pushed and not synced, and is held during a sync; a
// scripted failure counts under a lock of its own.
//
// # Commands
//
// Under /papi/4/connectors/NAME/, with the method given:
//
//	GET  get_current_session_id      an integer of up to 63 bits, new at each start
//	GET  ping                        nothing
//	POST add_documents               multipart/form-data, many documents
//	POST delete_documents            PAPI_uri, repeated
//	POST delete_documents_root_path  PAPI_rootPath, PAPI_recursive (default true)
//	POST set_checkpoint              PAPI_checkpoint, PAPI_name, PAPI_sync; answers a serial
//	GET  get_checkpoint              PAPI_name; the last synced value
//	POST sync                        nothing
//	GET  get_documents_status        PAPI_uri, repeated
//	GET  enumerate_synced_entries    PAPI_rootPath, PAPI_mode
//	GET  count_synced_entries        PAPI_rootPath, PAPI_mode
//
// The session is not asked for by the first two; all others need PAPI_session in
// the URL. Answers: 200 with a body or 204 without; 400 for anything wrong in a
// request, of which then nothing is applied; 401 for a wrong user or password; 404
// for an unknown command or connector; 405 for the wrong method; 500 for a failure
// here. The body of every refusal is
// <error><status>400</status><message>...</message></error>.
//
// A document of add_documents is made of the parts PAPI_<id>:uri, :stamp,
// :meta:<name>, :part_bytes:master, :part_directive:master:encoding, filename or
// mimeHint, and :directive:datamodel_class; <id> is any token without a colon. Other
// parts are refused by name. The master part is searchable when it is text/plain or
// HTML (the first MiB of its text); of other types only the metas are.
//
// # States
//
// A document is pushed when its request is answered: it is in memory and is lost in
// a crash. A sync, or a checkpoint with PAPI_sync=true, writes all that is pending of
// the connector, in order and with its checkpoints, in one atomic batch that is on
// disk before the answer leaves: it is then synced, and searchable. There is no sync
// in the background; Close does one, and one happens where what is pending exceeds
// Settings.MaxPendingBytes. After a crash get_checkpoint answers the last value whose
// documents are all there.
//
// # What is ours
//
// The vendor does not document, or we have not seen documented, and so chose:
//
//   - PAPI_session is required (the vendor calls it optional); a wrong one is 400.
//   - get_checkpoint of a name never synced answers 200 with an empty body.
//   - enumerate_synced_entries answers a line an entry, "URI STAMP", and
//     get_documents_status a line a URI in the order asked, "URI true|false STAMP";
//     URI is URL-encoded (query escaping), backslash, CR and LF in STAMP become \\, \r
//     and \n. This is the form of the vendor's enumerate_checkpoints_info. true is
//     also said of a document that is only pushed. Entries come in no set order.
//   - PAPI_mode: RECURSIVE_DOCUMENTS (default) and NOT_RECURSIVE_DOCUMENTS; the modes
//     that list folders are 400.
//   - A root path matches the URI equal to it and those below it, cut at slashes; an
//     empty one is 400 in delete_documents_root_path, and everything elsewhere.
//   - delete_documents takes PAPI_uri from a form-urlencoded body and from the URL.
//   - PAPI_sync as the name of the sync flag, :stamp and :directive: as part names,
//     the XML of errors, and 400 also for a request over the limits.
//   - Serials count the adds and deletes of a connector, from 1.
//   - Limits beside those of Settings: a URI or stamp of 32 KiB, a meta value of 1 MiB,
//     a form of 16 MiB, 100 connectors, 100 checkpoints in each with names and values
//     of 4 KiB. URIs and parameters have no control characters.
//   - The multipart body ends with its last boundary; an epilogue is refused, because a
//     body that was cut off between two parts could not be told from a whole one.
//
// # _bulk
//
// POST or PUT /elastic/_bulk and /elastic/INDEX/_bulk: index and delete with _id, and
// external_gte versions or none; each item is answered for itself, and the answer
// leaves when all is on disk. /elastic/INDEX/_mget returns fields by _id. Versions of
// deleted documents are remembered for a minute. GET, HEAD and PUT
// /elastic/_index_template/NAME keep templates, of which the types of fields are
// checked; they have no effect. A document is in the connector elastic:INDEX; its
// fields url, title, text, source and content_type have places of their own, the
// others are metas.
//
// # Webhook
//
// POST /webhook/NAME as docs/webhook.openapi.yaml says, into the connector
// webhook:NAME. The answer leaves when all is on disk. The last 1,000
// Idempotency-Keys are known: the same lines are not taken twice, and other lines
// under such a key are 422.
//
// # Pages
//
// / is the search page, /api/search?q=&from=&size= the same as JSON, /status and
// /documents?url=&connector= are JSON, /healthz answers "ok". Words of a query must
// all be there (in title, text or metas), "a phrase" as it stands, and -word must not.
package indexer
