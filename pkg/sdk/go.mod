module github.com/interlock-run/interlock/pkg/sdk

go 1.26.0

require (
	github.com/evanphx/json-patch/v5 v5.9.11
	github.com/interlock-run/interlock/gen v0.0.0
	github.com/interlock-run/interlock/pkg/fault v0.0.0
	github.com/interlock-run/interlock/pkg/internal v0.0.0
	go.uber.org/goleak v1.3.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	pgregory.net/rapid v1.3.0
)

require (
	buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go v1.36.12-20260825204119-511051f7f437.2 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
)

replace github.com/interlock-run/interlock/gen => ../../gen

replace github.com/interlock-run/interlock/pkg/fault => ../fault

replace github.com/interlock-run/interlock/pkg/internal => ../internal
