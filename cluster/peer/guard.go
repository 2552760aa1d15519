package peer

import "net/http"

// Guard answers by next whoever proves to have the token, and nobody else. Its own proof goes
// with the answer, and only to those that have shown theirs.
func Guard(t Token, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.proves(r.TLS, asks, r.Header.Get(header)) {
			http.Error(w, "this cluster's token is not proved", http.StatusForbidden)
			return
		}
		own, err := t.proof(r.TLS, answers)
		if err != nil {
			http.Error(w, "no proof can be given", http.StatusInternalServerError)
			return
		}
		w.Header().Set(header, own)
		next.ServeHTTP(w, r)
	})
}
