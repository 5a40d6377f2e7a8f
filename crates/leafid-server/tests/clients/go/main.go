// Uses the gRPC front end as a program in Go does, and prints what it saw, one step a line.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	leafidv1 "leafid.test/grpc/leafidv1"
)

func show(step string, value any) {
	line, err := json.Marshal(map[string]any{"step": step, "value": value})
	check(err)
	fmt.Println(string(line))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// What a status says, with its details.
func told(err error) map[string]any {
	failed := status.Convert(err)
	seen := map[string]any{"code": failed.Code().String()}
	for _, detail := range failed.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			seen["reason"], seen["domain"] = detail.Reason, detail.Domain
		case *errdetails.RetryInfo:
			seen["retry"] = detail.RetryDelay.AsDuration() > 0
		case *errdetails.BadRequest:
			seen["field"] = detail.FieldViolations[0].Field
		}
	}
	return seen
}

func main() {
	address, secret := os.Args[1], os.Args[2]
	conn, err := grpc.Dial(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	defer conn.Close()
	anyone, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	ctx := metadata.AppendToOutgoingContext(anyone, "authorization", "Bearer "+secret)
	ids, tags := leafidv1.NewIdsClient(conn), leafidv1.NewTagsClient(conn)

	health, err := grpc_health_v1.NewHealthClient(conn).Check(anyone, &grpc_health_v1.HealthCheckRequest{})
	check(err)
	show("health", health.Status.String())
	next, err := ids.Next(ctx, &leafidv1.NextRequest{Tag: "order"})
	check(err)
	show("next", next.Id)
	many, err := ids.NextMany(ctx, &leafidv1.NextManyRequest{Tag: "order", Count: 3})
	check(err)
	show("next many", many.Ids)
	run, err := ids.ReserveRange(ctx, &leafidv1.ReserveRangeRequest{Tag: "order", Length: 10})
	check(err)
	show("range", []uint64{run.First, run.Last, run.Length})
	parts, err := ids.Decode(ctx, &leafidv1.DecodeRequest{Id: 1169786042799259000})
	check(err)
	show("decode", []any{parts.Time.AsTime().Format(time.RFC3339Nano), parts.WorkerId, parts.Sequence})
	talk(ctx, ids)

	_, err = tags.CreateTag(ctx, &leafidv1.CreateTagRequest{Tag: &leafidv1.Tag{Name: "go", Step: 7}, Start: 100})
	check(err)
	changed, err := tags.UpdateTag(ctx, &leafidv1.UpdateTagRequest{
		Tag:        &leafidv1.Tag{Name: "go", Description: "gophers"},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"description"}},
	})
	check(err)
	show("tag", []any{changed.Name, changed.MaxId, changed.Step, changed.Description})
	_, err = tags.DeleteTag(ctx, &leafidv1.DeleteTagRequest{Name: "go"})
	check(err)
	_, err = tags.GetTag(ctx, &leafidv1.GetTagRequest{Name: "go"})
	show("unknown tag", told(err))
	_, err = ids.NextMany(ctx, &leafidv1.NextManyRequest{Tag: "order", Count: 10001})
	show("too many", told(err))
	_, err = ids.Next(anyone, &leafidv1.NextRequest{Tag: "order"})
	show("no token", told(err))
}

// Sends all messages before it reads an answer.
func talk(ctx context.Context, ids leafidv1.IdsClient) {
	stream, err := ids.Stream(ctx)
	check(err)
	for _, count := range []uint32{1, 2, 10001, 1} {
		check(stream.Send(&leafidv1.StreamRequest{Tag: "order", Count: count}))
	}
	check(stream.CloseSend())
	seen := []any{}
	for {
		answer, err := stream.Recv()
		if err == io.EOF {
			break
		}
		check(err)
		if answer.Failure != nil {
			seen = append(seen, answer.Failure.Reason)
		} else {
			seen = append(seen, answer.Ids)
		}
	}
	show("stream", seen)
}
