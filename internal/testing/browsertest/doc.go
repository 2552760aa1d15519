// Package browsertest tests the console in a real Chromium: the program runs as its user
// starts it, crawls a site, and a browser is led through the pages. It tests crawls whose pages
// a Chromium of the program's renders, too.
//
// Without a Chromium its tests are skipped. SEXTANT_CHROMIUM names one that is not found
// by itself, SEXTANT_SCREENSHOTS a folder for pictures of the pages.
package browsertest
