"""Uses the gRPC front end as a program in Python does, and prints what it saw, one step a line."""

import json
import sys

import grpc
from google.protobuf import field_mask_pb2
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status
from leafid.v1 import ids_pb2, ids_pb2_grpc, tags_pb2, tags_pb2_grpc


def show(step, value):
    print(json.dumps({"step": step, "value": value}), flush=True)


def told(call, *arguments, **named):
    """What a status says, with its details."""
    try:
        answer = call(*arguments, **named)
    except grpc.RpcError as error:
        status = rpc_status.from_call(error)
        seen = {"code": error.code().name}
        for detail in status.details:
            info = error_details_pb2.ErrorInfo()
            if detail.Unpack(info):
                seen["reason"], seen["domain"] = info.reason, info.domain
            retry = error_details_pb2.RetryInfo()
            if detail.Unpack(retry):
                seen["retry"] = retry.retry_delay.ToNanoseconds() > 0
            bad = error_details_pb2.BadRequest()
            if detail.Unpack(bad):
                seen["field"] = bad.field_violations[0].field
        return seen
    return {"answer": str(answer)}


def main(address, secret):
    token = [("authorization", "Bearer " + secret)]
    channel = grpc.insecure_channel(address)
    ids, tags = ids_pb2_grpc.IdsStub(channel), tags_pb2_grpc.TagsStub(channel)
    known = {"metadata": token, "timeout": 30}

    health = health_pb2_grpc.HealthStub(channel).Check(
        health_pb2.HealthCheckRequest(), timeout=30
    )
    show("health", health_pb2.HealthCheckResponse.ServingStatus.Name(health.status))
    show("next", ids.Next(ids_pb2.NextRequest(tag="order"), **known).id)
    many = ids.NextMany(ids_pb2.NextManyRequest(tag="order", count=3), **known)
    show("next many", list(many.ids))
    run = ids.ReserveRange(ids_pb2.ReserveRangeRequest(tag="order", length=10), **known)
    show("range", [run.first, run.last, run.length])
    parts = ids.Decode(ids_pb2.DecodeRequest(id=1169786042799259000), **known)
    time = parts.time.ToJsonString()
    show("decode", [time, parts.worker_id, parts.sequence])

    requests = [ids_pb2.StreamRequest(tag="order", count=n) for n in (1, 2, 10001, 1)]
    answers = ids.Stream(iter(requests), **known)
    show(
        "stream",
        [
            answer.failure.reason if answer.HasField("failure") else list(answer.ids)
            for answer in answers
        ],
    )

    tag = tags_pb2.Tag(name="python", step=7)
    tags.CreateTag(tags_pb2.CreateTagRequest(tag=tag, start=100), **known)
    change = tags_pb2.UpdateTagRequest(
        tag=tags_pb2.Tag(name="python", description="snakes"),
        update_mask=field_mask_pb2.FieldMask(paths=["description"]),
    )
    changed = tags.UpdateTag(change, **known)
    show("tag", [changed.name, changed.max_id, changed.step, changed.description])
    tags.DeleteTag(tags_pb2.DeleteTagRequest(name="python"), **known)
    show(
        "unknown tag",
        told(tags.GetTag, tags_pb2.GetTagRequest(name="python"), **known),
    )
    too_many = ids_pb2.NextManyRequest(tag="order", count=10001)
    show("too many", told(ids.NextMany, too_many, **known))
    show("no token", told(ids.Next, ids_pb2.NextRequest(tag="order"), timeout=30))


main(*sys.argv[1:])
