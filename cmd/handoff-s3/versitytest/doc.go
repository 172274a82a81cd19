// Package versitytest runs many processes over a log in a bucket of a real server,
// versitygw. It is a module of its own: the server has many dependencies, and building
// it takes minutes.
package versitytest
