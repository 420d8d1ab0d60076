# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.state.v1 import schema_service_pb2 as interlock_dot_state_dot_v1_dot_schema__service__pb2

GRPC_GENERATED_VERSION = '1.85.1'
GRPC_VERSION = grpc.__version__
_version_not_supported = False

try:
    from grpc._utilities import first_version_is_lower
    _version_not_supported = first_version_is_lower(GRPC_VERSION, GRPC_GENERATED_VERSION)
except ImportError:
    _version_not_supported = True

if _version_not_supported:
    raise RuntimeError(
        f'The grpc package installed is at version {GRPC_VERSION},'
        + ' but the generated code in interlock/state/v1/schema_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class SchemaServiceStub:
    """SchemaService owns the JSON Schemas that states conform to (S10.1).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.RegisterSchema = channel.unary_unary(
                '/interlock.state.v1.SchemaService/RegisterSchema',
                request_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.RegisterSchemaRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.RegisterSchemaResponse.FromString,
                _registered_method=True)
        self.GetSchema = channel.unary_unary(
                '/interlock.state.v1.SchemaService/GetSchema',
                request_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.GetSchemaRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.GetSchemaResponse.FromString,
                _registered_method=True)
        self.ListSchemas = channel.unary_unary(
                '/interlock.state.v1.SchemaService/ListSchemas',
                request_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemasRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemasResponse.FromString,
                _registered_method=True)
        self.ListSchemaVersions = channel.unary_unary(
                '/interlock.state.v1.SchemaService/ListSchemaVersions',
                request_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemaVersionsRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemaVersionsResponse.FromString,
                _registered_method=True)


class SchemaServiceServicer:
    """SchemaService owns the JSON Schemas that states conform to (S10.1).
    """

    def RegisterSchema(self, request, context):
        """RegisterSchema stores a schema as the next version of its name, and makes it live. The
        content of the live version returns that version with created = false.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetSchema(self, request, context):
        """GetSchema returns one version of a schema, by default the live one. NOT_FOUND when
        there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListSchemas(self, request, context):
        """ListSchemas returns the live version of every schema. It is a registry: ordered by
        name, without a filter.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListSchemaVersions(self, request, context):
        """ListSchemaVersions returns every version of one schema, newest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_SchemaServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'RegisterSchema': grpc.unary_unary_rpc_method_handler(
                    servicer.RegisterSchema,
                    request_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.RegisterSchemaRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.RegisterSchemaResponse.SerializeToString,
            ),
            'GetSchema': grpc.unary_unary_rpc_method_handler(
                    servicer.GetSchema,
                    request_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.GetSchemaRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.GetSchemaResponse.SerializeToString,
            ),
            'ListSchemas': grpc.unary_unary_rpc_method_handler(
                    servicer.ListSchemas,
                    request_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemasRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemasResponse.SerializeToString,
            ),
            'ListSchemaVersions': grpc.unary_unary_rpc_method_handler(
                    servicer.ListSchemaVersions,
                    request_deserializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemaVersionsRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemaVersionsResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.state.v1.SchemaService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.state.v1.SchemaService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class SchemaService:
    """SchemaService owns the JSON Schemas that states conform to (S10.1).
    """

    @staticmethod
    def RegisterSchema(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.state.v1.SchemaService/RegisterSchema',
            interlock_dot_state_dot_v1_dot_schema__service__pb2.RegisterSchemaRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_schema__service__pb2.RegisterSchemaResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def GetSchema(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.state.v1.SchemaService/GetSchema',
            interlock_dot_state_dot_v1_dot_schema__service__pb2.GetSchemaRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_schema__service__pb2.GetSchemaResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def ListSchemas(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.state.v1.SchemaService/ListSchemas',
            interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemasRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemasResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)

    @staticmethod
    def ListSchemaVersions(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_unary(
            request,
            target,
            '/interlock.state.v1.SchemaService/ListSchemaVersions',
            interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemaVersionsRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_schema__service__pb2.ListSchemaVersionsResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
