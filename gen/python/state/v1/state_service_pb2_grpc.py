# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.state.v1 import state_service_pb2 as interlock_dot_state_dot_v1_dot_state__service__pb2

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
        + ' but the generated code in interlock/state/v1/state_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class StateServiceStub:
    """StateService owns shared states: JSON documents that conform to a schema, with a
    version for every change (S10).

    Each request names the session that acts, by id or name. Agents must name it, and may
    only do what that session may (S10.9). Operators may leave it out.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateState = channel.unary_unary(
                '/interlock.state.v1.StateService/CreateState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.CreateStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.CreateStateResponse.FromString,
                _registered_method=True)
        self.GetState = channel.unary_unary(
                '/interlock.state.v1.StateService/GetState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateResponse.FromString,
                _registered_method=True)
        self.ListStates = channel.unary_unary(
                '/interlock.state.v1.StateService/ListStates',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.ListStatesRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.ListStatesResponse.FromString,
                _registered_method=True)
        self.UpdateState = channel.unary_unary(
                '/interlock.state.v1.StateService/UpdateState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UpdateStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UpdateStateResponse.FromString,
                _registered_method=True)
        self.MigrateState = channel.unary_unary(
                '/interlock.state.v1.StateService/MigrateState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.MigrateStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.MigrateStateResponse.FromString,
                _registered_method=True)
        self.DeleteState = channel.unary_unary(
                '/interlock.state.v1.StateService/DeleteState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.DeleteStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.DeleteStateResponse.FromString,
                _registered_method=True)
        self.GetStateHistory = channel.unary_unary(
                '/interlock.state.v1.StateService/GetStateHistory',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateHistoryRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateHistoryResponse.FromString,
                _registered_method=True)
        self.GetStateWriters = channel.unary_unary(
                '/interlock.state.v1.StateService/GetStateWriters',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateWritersRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateWritersResponse.FromString,
                _registered_method=True)
        self.LockState = channel.unary_unary(
                '/interlock.state.v1.StateService/LockState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.LockStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.LockStateResponse.FromString,
                _registered_method=True)
        self.UnlockState = channel.unary_unary(
                '/interlock.state.v1.StateService/UnlockState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UnlockStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UnlockStateResponse.FromString,
                _registered_method=True)
        self.WatchState = channel.unary_stream(
                '/interlock.state.v1.StateService/WatchState',
                request_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.WatchStateRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.WatchStateResponse.FromString,
                _registered_method=True)


class StateServiceServicer:
    """StateService owns shared states: JSON documents that conform to a schema, with a
    version for every change (S10).

    Each request names the session that acts, by id or name. Agents must name it, and may
    only do what that session may (S10.9). Operators may leave it out.
    """

    def CreateState(self, request, context):
        """CreateState makes a state at version 1 for a root session, which is made when there
        is none of that name. Sessions created under it from then on share the state.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetState(self, request, context):
        """GetState returns a state, or the parts of it that pointers name, as it is or as it
        was at a version.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListStates(self, request, context):
        """ListStates returns states, newest first, without their data.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def UpdateState(self, request, context):
        """UpdateState replaces the document, or applies a patch to it as it is then (S10.3).
        Without expected_version concurrent patches apply one after the other, none lost.
        ABORTED when expected_version does not match, FAILED_PRECONDITION (LOCKED, FENCED)
        when another holds the lock.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def MigrateState(self, request, context):
        """MigrateState moves a state to another version of its schema, when its data, patched
        if asked for, conforms to that version (S10.7).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeleteState(self, request, context):
        """DeleteState removes a state and its history, once its root session has ended, or by
        force (S10.8).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetStateHistory(self, request, context):
        """GetStateHistory returns the changes of a state (S10.6). It is a log: read from a
        version on, oldest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetStateWriters(self, request, context):
        """GetStateWriters returns who wrote each value of a document last, as it is or as it was
        at a version. Values that moved, with others or by their index in a list, keep their
        writer.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def LockState(self, request, context):
        """LockState takes or renews the lock on a state (S10.5). While it is held only writes
        with its fencing token are accepted.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def UnlockState(self, request, context):
        """UnlockState gives the lock back. A lock that has lapsed is no error.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def WatchState(self, request, context):
        """WatchState streams every change after a version, then every new one, until the state
        is deleted.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_StateServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateState': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.CreateStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.CreateStateResponse.SerializeToString,
            ),
            'GetState': grpc.unary_unary_rpc_method_handler(
                    servicer.GetState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateResponse.SerializeToString,
            ),
            'ListStates': grpc.unary_unary_rpc_method_handler(
                    servicer.ListStates,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.ListStatesRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.ListStatesResponse.SerializeToString,
            ),
            'UpdateState': grpc.unary_unary_rpc_method_handler(
                    servicer.UpdateState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UpdateStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UpdateStateResponse.SerializeToString,
            ),
            'MigrateState': grpc.unary_unary_rpc_method_handler(
                    servicer.MigrateState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.MigrateStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.MigrateStateResponse.SerializeToString,
            ),
            'DeleteState': grpc.unary_unary_rpc_method_handler(
                    servicer.DeleteState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.DeleteStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.DeleteStateResponse.SerializeToString,
            ),
            'GetStateHistory': grpc.unary_unary_rpc_method_handler(
                    servicer.GetStateHistory,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateHistoryRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateHistoryResponse.SerializeToString,
            ),
            'GetStateWriters': grpc.unary_unary_rpc_method_handler(
                    servicer.GetStateWriters,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateWritersRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateWritersResponse.SerializeToString,
            ),
            'LockState': grpc.unary_unary_rpc_method_handler(
                    servicer.LockState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.LockStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.LockStateResponse.SerializeToString,
            ),
            'UnlockState': grpc.unary_unary_rpc_method_handler(
                    servicer.UnlockState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UnlockStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.UnlockStateResponse.SerializeToString,
            ),
            'WatchState': grpc.unary_stream_rpc_method_handler(
                    servicer.WatchState,
                    request_deserializer=interlock_dot_state_dot_v1_dot_state__service__pb2.WatchStateRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_state__service__pb2.WatchStateResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.state.v1.StateService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.state.v1.StateService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class StateService:
    """StateService owns shared states: JSON documents that conform to a schema, with a
    version for every change (S10).

    Each request names the session that acts, by id or name. Agents must name it, and may
    only do what that session may (S10.9). Operators may leave it out.
    """

    @staticmethod
    def CreateState(request,
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
            '/interlock.state.v1.StateService/CreateState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.CreateStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.CreateStateResponse.FromString,
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
    def GetState(request,
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
            '/interlock.state.v1.StateService/GetState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateResponse.FromString,
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
    def ListStates(request,
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
            '/interlock.state.v1.StateService/ListStates',
            interlock_dot_state_dot_v1_dot_state__service__pb2.ListStatesRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.ListStatesResponse.FromString,
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
    def UpdateState(request,
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
            '/interlock.state.v1.StateService/UpdateState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.UpdateStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.UpdateStateResponse.FromString,
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
    def MigrateState(request,
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
            '/interlock.state.v1.StateService/MigrateState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.MigrateStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.MigrateStateResponse.FromString,
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
    def DeleteState(request,
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
            '/interlock.state.v1.StateService/DeleteState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.DeleteStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.DeleteStateResponse.FromString,
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
    def GetStateHistory(request,
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
            '/interlock.state.v1.StateService/GetStateHistory',
            interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateHistoryRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateHistoryResponse.FromString,
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
    def GetStateWriters(request,
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
            '/interlock.state.v1.StateService/GetStateWriters',
            interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateWritersRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.GetStateWritersResponse.FromString,
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
    def LockState(request,
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
            '/interlock.state.v1.StateService/LockState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.LockStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.LockStateResponse.FromString,
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
    def UnlockState(request,
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
            '/interlock.state.v1.StateService/UnlockState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.UnlockStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.UnlockStateResponse.FromString,
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
    def WatchState(request,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.unary_stream(
            request,
            target,
            '/interlock.state.v1.StateService/WatchState',
            interlock_dot_state_dot_v1_dot_state__service__pb2.WatchStateRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_state__service__pb2.WatchStateResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
