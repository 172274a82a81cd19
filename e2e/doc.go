// Package e2e drives real agent programs against a scripted model.
//
// Its tests run the programs of package.json with a home directory of their own,
// after handoff init, and compare what handoff recorded with the script. They
// are a module of their own, so that handoff does not depend on them. Run them
// with make clients.
package e2e
