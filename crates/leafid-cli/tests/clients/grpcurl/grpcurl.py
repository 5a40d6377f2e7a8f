"""Does what the pages use of grpcurl: calls a method with JSON, and describes a service.

It knows no protocol file: like grpcurl, it asks the server by reflection.
"""

import argparse

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)


def describe(service):
    print(f"{service.full_name} is a service:")
    for method in service.methods:
        names = method.input_type.full_name, method.output_type.full_name
        print("  rpc {} ( .{} ) returns ( .{} );".format(method.name, *names))


def call(channel, method, text, metadata):
    request = json_format.Parse(text, GetMessageClass(method.input_type)())
    send = channel.unary_unary(
        f"/{method.containing_service.full_name}/{method.name}",
        request_serializer=type(request).SerializeToString,
        response_deserializer=GetMessageClass(method.output_type).FromString,
    )
    answer = send(request, timeout=30, metadata=metadata)
    print(json_format.MessageToJson(answer))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-plaintext", action="store_true", required=True)
    parser.add_argument("-d", default="{}")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("words", nargs="+")
    arguments = parser.parse_args()
    address, *words = arguments.words
    with grpc.insecure_channel(address) as channel:
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        if words[0] == "describe":
            describe(pool.FindServiceByName(words[1]))
            return
        service, name = words[0].split("/")
        method = pool.FindServiceByName(service).FindMethodByName(name)
        metadata = [tuple(header.split(": ", 1)) for header in arguments.H]
        call(channel, method, arguments.d, metadata)


main()
