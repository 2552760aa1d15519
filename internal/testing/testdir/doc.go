// Package testdir says where the temporary folders of tests are.
package testdir
