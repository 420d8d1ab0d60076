# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.policy.v1 import set_service_pb2 as interlock_dot_policy_dot_v1_dot_set__service__pb2

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
        + ' but the generated code in interlock/policy/v1/set_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class SetServiceStub:
    """SetService owns sets: definitions that are applied together, and the record of their owner
    (S26). The versions of an application are stored before it, staged; it makes them live.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.ApplySet = channel.unary_unary(
                '/interlock.policy.v1.SetService/ApplySet',
                request_serializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ApplySetRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ApplySetResponse.FromString,
                _registered_method=True)
        self.GetSet = channel.unary_unary(
                '/interlock.policy.v1.SetService/GetSet',
                request_serializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.GetSetRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.GetSetResponse.FromString,
                _registered_method=True)
        self.ListSets = channel.unary_unary(
                '/interlock.policy.v1.SetService/ListSets',
                request_serializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ListSetsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ListSetsResponse.FromString,
                _registered_method=True)


class SetServiceServicer:
    """SetService owns sets: definitions that are applied together, and the record of their owner
    (S26). The versions of an application are stored before it, staged; it makes them live.
    """

    def ApplySet(self, request, context):
        """ApplySet changes all objects of a set in one commit, or none. ABORTED with VERSION_CONFLICT
        when an object is not as the plan has seen it, or belongs to another set.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetSet(self, request, context):
        """GetSet returns one set. NOT_FOUND when it was never applied.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListSets(self, request, context):
        """ListSets returns all sets of the namespace, by name. For a version of a definition, it
        returns the set that has made it live, as it was applied then; none when no set has.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_SetServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'ApplySet': grpc.unary_unary_rpc_method_handler(
                    servicer.ApplySet,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ApplySetRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ApplySetResponse.SerializeToString,
            ),
            'GetSet': grpc.unary_unary_rpc_method_handler(
                    servicer.GetSet,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.GetSetRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.GetSetResponse.SerializeToString,
            ),
            'ListSets': grpc.unary_unary_rpc_method_handler(
                    servicer.ListSets,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ListSetsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_set__service__pb2.ListSetsResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.policy.v1.SetService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.policy.v1.SetService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class SetService:
    """SetService owns sets: definitions that are applied together, and the record of their owner
    (S26). The versions of an application are stored before it, staged; it makes them live.
    """

    @staticmethod
    def ApplySet(request,
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
            '/interlock.policy.v1.SetService/ApplySet',
            interlock_dot_policy_dot_v1_dot_set__service__pb2.ApplySetRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_set__service__pb2.ApplySetResponse.FromString,
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
    def GetSet(request,
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
            '/interlock.policy.v1.SetService/GetSet',
            interlock_dot_policy_dot_v1_dot_set__service__pb2.GetSetRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_set__service__pb2.GetSetResponse.FromString,
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
    def ListSets(request,
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
            '/interlock.policy.v1.SetService/ListSets',
            interlock_dot_policy_dot_v1_dot_set__service__pb2.ListSetsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_set__service__pb2.ListSetsResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
