// Package browser tests the viewer in a real browser, Chromium, which
// E2E_CHROMIUM names. It is a module of its own, so that the driver of the browser
// is no dependency of handoff.
package browser
