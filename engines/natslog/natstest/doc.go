// Package natstest tests package natslog with a NATS server, and with a cluster of
// three, on Linux. It is a module of its own, and handoff does not depend on the
// server.
package natstest
