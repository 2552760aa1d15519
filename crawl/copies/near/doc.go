// Package near tells pages that are nearly the same from pages that only look alike, because they have a frame in
// common, or a form.
//
// A Signature of 125 bytes is kept of each text. A Frame is learnt from some pages of a host, and says what all its
// pages share. With both Judge says whether one page is a copy of another, without their texts. A Table in memory finds
// the pages that are worth a look: those of the same text, and those of the same title.
package near
