# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.policy.v1 import upstream_service_pb2 as interlock_dot_policy_dot_v1_dot_upstream__service__pb2

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
        + ' but the generated code in interlock/policy/v1/upstream_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class UpstreamServiceStub:
    """UpstreamService remembers the tools of MCP servers behind the gate. The schema and the
    description of a tool are pinned when they are first seen; a tool that has changed
    since then is hidden until an operator accepts it.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.ListUpstreamTools = channel.unary_unary(
                '/interlock.policy.v1.UpstreamService/ListUpstreamTools',
                request_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ListUpstreamToolsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ListUpstreamToolsResponse.FromString,
                _registered_method=True)
        self.AcceptUpstreamTools = channel.unary_unary(
                '/interlock.policy.v1.UpstreamService/AcceptUpstreamTools',
                request_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamToolsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamToolsResponse.FromString,
                _registered_method=True)
        self.ForgetUpstreamTools = channel.unary_unary(
                '/interlock.policy.v1.UpstreamService/ForgetUpstreamTools',
                request_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ForgetUpstreamToolsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ForgetUpstreamToolsResponse.FromString,
                _registered_method=True)
        self.DescribeUpstreamTools = channel.unary_unary(
                '/interlock.policy.v1.UpstreamService/DescribeUpstreamTools',
                request_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.DescribeUpstreamToolsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.DescribeUpstreamToolsResponse.FromString,
                _registered_method=True)
        self.AcceptUpstreamDescriptions = channel.unary_unary(
                '/interlock.policy.v1.UpstreamService/AcceptUpstreamDescriptions',
                request_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamDescriptionsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamDescriptionsResponse.FromString,
                _registered_method=True)


class UpstreamServiceServicer:
    """UpstreamService remembers the tools of MCP servers behind the gate. The schema and the
    description of a tool are pinned when they are first seen; a tool that has changed
    since then is hidden until an operator accepts it.
    """

    def ListUpstreamTools(self, request, context):
        """ListUpstreamTools returns all tools that were seen, by server and name.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def AcceptUpstreamTools(self, request, context):
        """AcceptUpstreamTools accepts a change of a server's tool. NOT_FOUND when it has not
        changed, and VERSION_CONFLICT when it has changed again since.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ForgetUpstreamTools(self, request, context):
        """ForgetUpstreamTools forgets the pins of a server, or of one of its tools, and makes room
        for others. A tool that is forgotten is pinned again when it is next seen. NOT_FOUND when
        nothing is pinned.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DescribeUpstreamTools(self, request, context):
        """DescribeUpstreamTools proposes descriptions of a server's tools: those that are
        accepted, and drafts for the others. NOT_FOUND when nothing is pinned.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def AcceptUpstreamDescriptions(self, request, context):
        """AcceptUpstreamDescriptions accepts descriptions of a server's tools, in place of those
        before. A description counts until its tool changes. VERSION_CONFLICT when the digest
        is another.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_UpstreamServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'ListUpstreamTools': grpc.unary_unary_rpc_method_handler(
                    servicer.ListUpstreamTools,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ListUpstreamToolsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ListUpstreamToolsResponse.SerializeToString,
            ),
            'AcceptUpstreamTools': grpc.unary_unary_rpc_method_handler(
                    servicer.AcceptUpstreamTools,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamToolsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamToolsResponse.SerializeToString,
            ),
            'ForgetUpstreamTools': grpc.unary_unary_rpc_method_handler(
                    servicer.ForgetUpstreamTools,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ForgetUpstreamToolsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ForgetUpstreamToolsResponse.SerializeToString,
            ),
            'DescribeUpstreamTools': grpc.unary_unary_rpc_method_handler(
                    servicer.DescribeUpstreamTools,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.DescribeUpstreamToolsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.DescribeUpstreamToolsResponse.SerializeToString,
            ),
            'AcceptUpstreamDescriptions': grpc.unary_unary_rpc_method_handler(
                    servicer.AcceptUpstreamDescriptions,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamDescriptionsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamDescriptionsResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.policy.v1.UpstreamService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.policy.v1.UpstreamService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class UpstreamService:
    """UpstreamService remembers the tools of MCP servers behind the gate. The schema and the
    description of a tool are pinned when they are first seen; a tool that has changed
    since then is hidden until an operator accepts it.
    """

    @staticmethod
    def ListUpstreamTools(request,
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
            '/interlock.policy.v1.UpstreamService/ListUpstreamTools',
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ListUpstreamToolsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ListUpstreamToolsResponse.FromString,
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
    def AcceptUpstreamTools(request,
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
            '/interlock.policy.v1.UpstreamService/AcceptUpstreamTools',
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamToolsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamToolsResponse.FromString,
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
    def ForgetUpstreamTools(request,
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
            '/interlock.policy.v1.UpstreamService/ForgetUpstreamTools',
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ForgetUpstreamToolsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.ForgetUpstreamToolsResponse.FromString,
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
    def DescribeUpstreamTools(request,
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
            '/interlock.policy.v1.UpstreamService/DescribeUpstreamTools',
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.DescribeUpstreamToolsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.DescribeUpstreamToolsResponse.FromString,
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
    def AcceptUpstreamDescriptions(request,
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
            '/interlock.policy.v1.UpstreamService/AcceptUpstreamDescriptions',
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamDescriptionsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_upstream__service__pb2.AcceptUpstreamDescriptionsResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
