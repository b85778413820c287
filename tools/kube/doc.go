// Package kube holds the tests of the Helm chart in deploy/helm/pleat: of what it renders, and, on a control plane of
// Kubernetes, of what its objects do. It has no code of its own.
package kube
