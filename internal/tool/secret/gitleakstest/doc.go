// Package gitleakstest compares package secret with gitleaks, whose rules it has, and
// writes these rules from those of gitleaks. It is a module of its own, and handoff
// does not depend on gitleaks.
package gitleakstest
