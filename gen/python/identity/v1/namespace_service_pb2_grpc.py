# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.identity.v1 import namespace_service_pb2 as interlock_dot_identity_dot_v1_dot_namespace__service__pb2

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
        + ' but the generated code in interlock/identity/v1/namespace_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class NamespaceServiceStub:
    """NamespaceService says which namespaces a caller may call in (S22.32).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.ListNamespaces = channel.unary_unary(
                '/interlock.identity.v1.NamespaceService/ListNamespaces',
                request_serializer=interlock_dot_identity_dot_v1_dot_namespace__service__pb2.ListNamespacesRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_namespace__service__pb2.ListNamespacesResponse.FromString,
                _registered_method=True)


class NamespaceServiceServicer:
    """NamespaceService says which namespaces a caller may call in (S22.32).
    """

    def ListNamespaces(self, request, context):
        """ListNamespaces returns the namespaces that the caller may call in, and no others. A caller of
        several need not name one for this.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_NamespaceServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'ListNamespaces': grpc.unary_unary_rpc_method_handler(
                    servicer.ListNamespaces,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_namespace__service__pb2.ListNamespacesRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_namespace__service__pb2.ListNamespacesResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.identity.v1.NamespaceService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.identity.v1.NamespaceService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class NamespaceService:
    """NamespaceService says which namespaces a caller may call in (S22.32).
    """

    @staticmethod
    def ListNamespaces(request,
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
            '/interlock.identity.v1.NamespaceService/ListNamespaces',
            interlock_dot_identity_dot_v1_dot_namespace__service__pb2.ListNamespacesRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_namespace__service__pb2.ListNamespacesResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
