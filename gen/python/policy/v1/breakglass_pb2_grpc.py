# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.policy.v1 import breakglass_pb2 as interlock_dot_policy_dot_v1_dot_breakglass__pb2

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
        + ' but the generated code in interlock/policy/v1/breakglass_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class BreakGlassServiceStub:
    """BreakGlassService owns the grants by which clients make calls while they cannot reach
    Interlock, and takes in what they did (S23.48).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateBreakGlassGrant = channel.unary_unary(
                '/interlock.policy.v1.BreakGlassService/CreateBreakGlassGrant',
                request_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.CreateBreakGlassGrantRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.CreateBreakGlassGrantResponse.FromString,
                _registered_method=True)
        self.ListBreakGlassGrants = channel.unary_unary(
                '/interlock.policy.v1.BreakGlassService/ListBreakGlassGrants',
                request_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ListBreakGlassGrantsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ListBreakGlassGrantsResponse.FromString,
                _registered_method=True)
        self.GetBreakGlassGrant = channel.unary_unary(
                '/interlock.policy.v1.BreakGlassService/GetBreakGlassGrant',
                request_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.GetBreakGlassGrantRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.GetBreakGlassGrantResponse.FromString,
                _registered_method=True)
        self.ConfirmBreakGlassGrant = channel.unary_unary(
                '/interlock.policy.v1.BreakGlassService/ConfirmBreakGlassGrant',
                request_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ConfirmBreakGlassGrantRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ConfirmBreakGlassGrantResponse.FromString,
                _registered_method=True)
        self.RevokeBreakGlassGrant = channel.unary_unary(
                '/interlock.policy.v1.BreakGlassService/RevokeBreakGlassGrant',
                request_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.RevokeBreakGlassGrantRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.RevokeBreakGlassGrantResponse.FromString,
                _registered_method=True)
        self.HandInBreakGlass = channel.unary_unary(
                '/interlock.policy.v1.BreakGlassService/HandInBreakGlass',
                request_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.HandInBreakGlassRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.HandInBreakGlassResponse.FromString,
                _registered_method=True)


class BreakGlassServiceServicer:
    """BreakGlassService owns the grants by which clients make calls while they cannot reach
    Interlock, and takes in what they did (S23.48).
    """

    def CreateBreakGlassGrant(self, request, context):
        """CreateBreakGlassGrant makes a grant. Where the deployment demands four eyes, it counts
        once another operator has confirmed it.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListBreakGlassGrants(self, request, context):
        """ListBreakGlassGrants returns the grants of the namespace, the newest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetBreakGlassGrant(self, request, context):
        """GetBreakGlassGrant returns one grant.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ConfirmBreakGlassGrant(self, request, context):
        """ConfirmBreakGlassGrant is the second operator's consent to a grant.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RevokeBreakGlassGrant(self, request, context):
        """RevokeBreakGlassGrant ends a grant: later calls by it are recorded as revoked.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def HandInBreakGlass(self, request, context):
        """HandInBreakGlass records the calls of a spool, each once.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_BreakGlassServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateBreakGlassGrant': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateBreakGlassGrant,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.CreateBreakGlassGrantRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.CreateBreakGlassGrantResponse.SerializeToString,
            ),
            'ListBreakGlassGrants': grpc.unary_unary_rpc_method_handler(
                    servicer.ListBreakGlassGrants,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ListBreakGlassGrantsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ListBreakGlassGrantsResponse.SerializeToString,
            ),
            'GetBreakGlassGrant': grpc.unary_unary_rpc_method_handler(
                    servicer.GetBreakGlassGrant,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.GetBreakGlassGrantRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.GetBreakGlassGrantResponse.SerializeToString,
            ),
            'ConfirmBreakGlassGrant': grpc.unary_unary_rpc_method_handler(
                    servicer.ConfirmBreakGlassGrant,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ConfirmBreakGlassGrantRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.ConfirmBreakGlassGrantResponse.SerializeToString,
            ),
            'RevokeBreakGlassGrant': grpc.unary_unary_rpc_method_handler(
                    servicer.RevokeBreakGlassGrant,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.RevokeBreakGlassGrantRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.RevokeBreakGlassGrantResponse.SerializeToString,
            ),
            'HandInBreakGlass': grpc.unary_unary_rpc_method_handler(
                    servicer.HandInBreakGlass,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.HandInBreakGlassRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_breakglass__pb2.HandInBreakGlassResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.policy.v1.BreakGlassService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.policy.v1.BreakGlassService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class BreakGlassService:
    """BreakGlassService owns the grants by which clients make calls while they cannot reach
    Interlock, and takes in what they did (S23.48).
    """

    @staticmethod
    def CreateBreakGlassGrant(request,
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
            '/interlock.policy.v1.BreakGlassService/CreateBreakGlassGrant',
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.CreateBreakGlassGrantRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.CreateBreakGlassGrantResponse.FromString,
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
    def ListBreakGlassGrants(request,
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
            '/interlock.policy.v1.BreakGlassService/ListBreakGlassGrants',
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.ListBreakGlassGrantsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.ListBreakGlassGrantsResponse.FromString,
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
    def GetBreakGlassGrant(request,
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
            '/interlock.policy.v1.BreakGlassService/GetBreakGlassGrant',
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.GetBreakGlassGrantRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.GetBreakGlassGrantResponse.FromString,
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
    def ConfirmBreakGlassGrant(request,
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
            '/interlock.policy.v1.BreakGlassService/ConfirmBreakGlassGrant',
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.ConfirmBreakGlassGrantRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.ConfirmBreakGlassGrantResponse.FromString,
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
    def RevokeBreakGlassGrant(request,
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
            '/interlock.policy.v1.BreakGlassService/RevokeBreakGlassGrant',
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.RevokeBreakGlassGrantRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.RevokeBreakGlassGrantResponse.FromString,
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
    def HandInBreakGlass(request,
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
            '/interlock.policy.v1.BreakGlassService/HandInBreakGlass',
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.HandInBreakGlassRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_breakglass__pb2.HandInBreakGlassResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
