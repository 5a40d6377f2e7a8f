//go:build tools

// Names the program that is built, so that its packages stay in go.mod.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
