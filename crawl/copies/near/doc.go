// Package near distinguishes pages that are nearly identical from pages that only look alike because they share a frame
// or a form. Each text has a Signature of 125 bytes. A Frame, learnt from some pages of a host, describes the parts
// that all its pages share. From both, Judge decides whether one page is a copy of another, without their texts. A
// Table in memory finds candidates: pages with the same text or the same title.
package near
