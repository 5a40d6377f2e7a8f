//go:build tools

// Names the program that is built, so that its packages stay in go.mod.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
