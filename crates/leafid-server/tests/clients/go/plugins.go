//go:build plugins

// What makes Go of the protocol: named here, so that go.mod and go.sum pin its versions.
package main

import (
	_ "google.golang.org/grpc/cmd/protoc-gen-go-grpc"
	_ "google.golang.org/protobuf/cmd/protoc-gen-go"
)
