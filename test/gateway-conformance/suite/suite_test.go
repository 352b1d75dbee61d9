// Package suite is the Gateway API's own conformance suite, as a program.
package suite

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

// TestConformance takes all its settings from the flags of the suite.
func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
