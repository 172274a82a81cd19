// Package s3test tests bucketlog against a server that speaks S3. It is a module
// of its own, and handoff does not depend on the server.
package s3test
