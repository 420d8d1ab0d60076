# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.engine.v1 import run_service_pb2 as interlock_dot_engine_dot_v1_dot_run__service__pb2

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
        + ' but the generated code in interlock/engine/v1/run_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class RunServiceStub:
    """RunService owns runs, which are instances of workflows, and their history (S2, S6).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.StartRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/StartRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.StartRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.StartRunResponse.FromString,
                _registered_method=True)
        self.GetRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/GetRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunResponse.FromString,
                _registered_method=True)
        self.ListRuns = channel.unary_unary(
                '/interlock.engine.v1.RunService/ListRuns',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ListRunsRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ListRunsResponse.FromString,
                _registered_method=True)
        self.TransitionRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/TransitionRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.TransitionRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.TransitionRunResponse.FromString,
                _registered_method=True)
        self.BindBranch = channel.unary_unary(
                '/interlock.engine.v1.RunService/BindBranch',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.BindBranchRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.BindBranchResponse.FromString,
                _registered_method=True)
        self.ForceState = channel.unary_unary(
                '/interlock.engine.v1.RunService/ForceState',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ForceStateRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ForceStateResponse.FromString,
                _registered_method=True)
        self.MigrateRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/MigrateRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.MigrateRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.MigrateRunResponse.FromString,
                _registered_method=True)
        self.PauseRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/PauseRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.PauseRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.PauseRunResponse.FromString,
                _registered_method=True)
        self.ResumeRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/ResumeRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ResumeRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ResumeRunResponse.FromString,
                _registered_method=True)
        self.CancelRun = channel.unary_unary(
                '/interlock.engine.v1.RunService/CancelRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.CancelRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.CancelRunResponse.FromString,
                _registered_method=True)
        self.GetRunVersion = channel.unary_unary(
                '/interlock.engine.v1.RunService/GetRunVersion',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunVersionRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunVersionResponse.FromString,
                _registered_method=True)
        self.GetRunHistory = channel.unary_unary(
                '/interlock.engine.v1.RunService/GetRunHistory',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunHistoryRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunHistoryResponse.FromString,
                _registered_method=True)
        self.WatchRun = channel.unary_stream(
                '/interlock.engine.v1.RunService/WatchRun',
                request_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.WatchRunRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.WatchRunResponse.FromString,
                _registered_method=True)


class RunServiceServicer:
    """RunService owns runs, which are instances of workflows, and their history (S2, S6).
    """

    def StartRun(self, request, context):
        """StartRun starts a run in the initial state of its workflow.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetRun(self, request, context):
        """GetRun returns one run by its id, or the run that a session drives.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListRuns(self, request, context):
        """ListRuns returns runs, newest first. Agents see their own.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def TransitionRun(self, request, context):
        """TransitionRun fires an event. A refused event is an OK response with accepted =
        false and a rejection that says what would be legal. ABORTED when
        expected_version does not match.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def BindBranch(self, request, context):
        """BindBranch gives a branch of a run's fork to a session: its events and tool calls
        are judged in that branch alone (S5.3).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ForceState(self, request, context):
        """ForceState sets any state of a workflow with meta.debug (S6.3, S15.7).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def MigrateRun(self, request, context):
        """MigrateRun moves a run to another version of its workflow, in one commit (S17). What
        that newly allows must be accepted, else FAILED_PRECONDITION.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def PauseRun(self, request, context):
        """PauseRun stops a run until it is resumed, with the runs that it invoked and those
        that invoked it (S6.2): an operator holds it, and an agent pauses it where it may.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ResumeRun(self, request, context):
        """ResumeRun lifts the holds that the caller may lift, and continues the run as a
        new entry of its state when none is left (S6.2).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def CancelRun(self, request, context):
        """CancelRun ends a run and the runs that it invoked. The run that invoked it
        continues with on_fail.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetRunVersion(self, request, context):
        """GetRunVersion returns a run as it was after a change: what its history gives when the
        version of the workflow that it is pinned to plays it again. What was counted in an
        entry of a state is not in it. NOT_FOUND when the history does not reach back to the
        start any more.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetRunHistory(self, request, context):
        """GetRunHistory returns the changes of a run and its tool results (S6.4). It is a
        log: read from a version on, oldest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def WatchRun(self, request, context):
        """WatchRun streams the run now and after every change until it ends.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_RunServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'StartRun': grpc.unary_unary_rpc_method_handler(
                    servicer.StartRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.StartRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.StartRunResponse.SerializeToString,
            ),
            'GetRun': grpc.unary_unary_rpc_method_handler(
                    servicer.GetRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunResponse.SerializeToString,
            ),
            'ListRuns': grpc.unary_unary_rpc_method_handler(
                    servicer.ListRuns,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ListRunsRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ListRunsResponse.SerializeToString,
            ),
            'TransitionRun': grpc.unary_unary_rpc_method_handler(
                    servicer.TransitionRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.TransitionRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.TransitionRunResponse.SerializeToString,
            ),
            'BindBranch': grpc.unary_unary_rpc_method_handler(
                    servicer.BindBranch,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.BindBranchRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.BindBranchResponse.SerializeToString,
            ),
            'ForceState': grpc.unary_unary_rpc_method_handler(
                    servicer.ForceState,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ForceStateRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ForceStateResponse.SerializeToString,
            ),
            'MigrateRun': grpc.unary_unary_rpc_method_handler(
                    servicer.MigrateRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.MigrateRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.MigrateRunResponse.SerializeToString,
            ),
            'PauseRun': grpc.unary_unary_rpc_method_handler(
                    servicer.PauseRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.PauseRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.PauseRunResponse.SerializeToString,
            ),
            'ResumeRun': grpc.unary_unary_rpc_method_handler(
                    servicer.ResumeRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ResumeRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.ResumeRunResponse.SerializeToString,
            ),
            'CancelRun': grpc.unary_unary_rpc_method_handler(
                    servicer.CancelRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.CancelRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.CancelRunResponse.SerializeToString,
            ),
            'GetRunVersion': grpc.unary_unary_rpc_method_handler(
                    servicer.GetRunVersion,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunVersionRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunVersionResponse.SerializeToString,
            ),
            'GetRunHistory': grpc.unary_unary_rpc_method_handler(
                    servicer.GetRunHistory,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunHistoryRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunHistoryResponse.SerializeToString,
            ),
            'WatchRun': grpc.unary_stream_rpc_method_handler(
                    servicer.WatchRun,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.WatchRunRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_run__service__pb2.WatchRunResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.engine.v1.RunService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.engine.v1.RunService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class RunService:
    """RunService owns runs, which are instances of workflows, and their history (S2, S6).
    """

    @staticmethod
    def StartRun(request,
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
            '/interlock.engine.v1.RunService/StartRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.StartRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.StartRunResponse.FromString,
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
    def GetRun(request,
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
            '/interlock.engine.v1.RunService/GetRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunResponse.FromString,
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
    def ListRuns(request,
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
            '/interlock.engine.v1.RunService/ListRuns',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.ListRunsRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.ListRunsResponse.FromString,
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
    def TransitionRun(request,
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
            '/interlock.engine.v1.RunService/TransitionRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.TransitionRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.TransitionRunResponse.FromString,
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
    def BindBranch(request,
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
            '/interlock.engine.v1.RunService/BindBranch',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.BindBranchRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.BindBranchResponse.FromString,
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
    def ForceState(request,
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
            '/interlock.engine.v1.RunService/ForceState',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.ForceStateRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.ForceStateResponse.FromString,
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
    def MigrateRun(request,
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
            '/interlock.engine.v1.RunService/MigrateRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.MigrateRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.MigrateRunResponse.FromString,
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
    def PauseRun(request,
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
            '/interlock.engine.v1.RunService/PauseRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.PauseRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.PauseRunResponse.FromString,
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
    def ResumeRun(request,
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
            '/interlock.engine.v1.RunService/ResumeRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.ResumeRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.ResumeRunResponse.FromString,
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
    def CancelRun(request,
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
            '/interlock.engine.v1.RunService/CancelRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.CancelRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.CancelRunResponse.FromString,
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
    def GetRunVersion(request,
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
            '/interlock.engine.v1.RunService/GetRunVersion',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunVersionRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunVersionResponse.FromString,
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
    def GetRunHistory(request,
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
            '/interlock.engine.v1.RunService/GetRunHistory',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunHistoryRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.GetRunHistoryResponse.FromString,
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
    def WatchRun(request,
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
            '/interlock.engine.v1.RunService/WatchRun',
            interlock_dot_engine_dot_v1_dot_run__service__pb2.WatchRunRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_run__service__pb2.WatchRunResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
