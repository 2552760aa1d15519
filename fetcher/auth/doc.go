// Package auth authenticates a crawler at the sites of its enterprise: Basic, Digest, NTLM, bearer tokens, OAuth2
// client credentials, client certificates, and the forms of log-in pages. It interprets responses with respect to the
// log-in, so that no log-in page is indexed as content and no document is deleted because a password was changed.
//
// # The worker's loop
//
// A log-in consists of requests, and every request counts for politeness. So a worker makes one of them per lease and
// returns the lease, as for robots.txt; the host's pause follows. One worker logs in at a time; the leases of others
// are returned for a moment.
//
//	step := session.Step(u)
//	defer step.End()
//	switch step.Action {
//	case auth.LogIn:
//		step.LogIn(ctx) // one request, to step.Asked
//		frontier.GiveBack(lease, true, time.Time{})
//		return
//	case auth.Return:
//		frontier.GiveBack(lease, false, step.Until)
//		return
//	case auth.Wait:
//		frontier.Wait(ctx, lease, step.Until, step.Words)
//		return
//	}
//	response, err := fetcher.Fetch(ctx, request) // its request goes through step.Do
//	switch answer := step.Judge(response, err); answer.Action {
//	case auth.Return:
//		frontier.GiveBack(lease, true, answer.Until)
//		return
//	case auth.Wait, auth.Temporary:
//		frontier.Wait(ctx, lease, answer.Until, answer.Words)
//		return
//	}
//	// auth.Proceed: the answer, or the error, is the page's own.
//
// The NTLM handshake is the exception: its requests must follow each other on one connection without a pause, and count
// as one.
//
// # What an answer means
//
// A session is good if a page was returned normally since the last log-in. Basic, Digest, NTLM, bearer tokens and
// certificates send their credentials with each request (direct); forms, OAuth2 and Digest have something to renew (a
// log-in, a token, a nonce). A URL is suspect after it was denied, until a page that was requested later is good.
//
//	answer                      session good                      session not proven
//	--------------------------  --------------------------------  --------------------------------
//	2xx, 304                    the page's own                    the page's own; session good
//	other 3xx, 4xx, 5xx, fault  the page's own                    the page's own; proves nothing
//	401, direct                 URL waits; no longer proven       session failed (after it was good
//	                            (Digest: first a new nonce)       before: URL waits, failed after 3)
//	401, form or OAuth2         log in again, URL comes again     URL waits; failed after 3 in a row
//	401, suspect, others good   the page's own: permanent         -
//	403, not form               the page's own: permanent         URL waits; failed after 3 in a row
//	403, form                   URL waits; the second one in a    URL waits; failed after 3 in a row
//	                            row: log in again
//	403, suspect, others good   the page's own: permanent         -
//	log-in page, form           log in again, URL comes again     temporary; failed after 3 in a row
//	log-in page, suspect,       temporary                         -
//	others good
//	the log-in page's own URL   temporary, no evidence            temporary, no evidence
//	Digest nonce wanted, stale  URL comes again (at most 3 times) URL comes again (at most 3 times)
//
// A session that failed (a log-in that failed, credentials refused) makes all its URLs wait for minutes, doubling and
// capped; then a single page or log-in retries. So a wrong password is sent once per wait and does not lock the
// account. After three consecutive log-ins that did not help the URL they were made for, a log-in requires a further
// denied page.
//
// # Secrets
//
// Credentials are sent only to the session's origins: not over http if the origin has https, not to another host after
// a redirect, not by a form that submits elsewhere. Secrets, cookies and tokens are in no error, log or String.
package auth
