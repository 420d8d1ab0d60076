# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.state.v1 import task_service_pb2 as interlock_dot_state_dot_v1_dot_task__service__pb2

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
        + ' but the generated code in interlock/state/v1/task_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class TaskServiceStub:
    """TaskService gives work to runners: start or resume an agent (S11.5). A task is claimed.
    A runner that dies loses its claim and the task is given again, so a task may be given
    more than once, always with the same id.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.ClaimTasks = channel.unary_stream(
                '/interlock.state.v1.TaskService/ClaimTasks',
                request_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ClaimTasksRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ClaimTasksResponse.FromString,
                _registered_method=True)
        self.ExtendTask = channel.unary_unary(
                '/interlock.state.v1.TaskService/ExtendTask',
                request_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ExtendTaskRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ExtendTaskResponse.FromString,
                _registered_method=True)
        self.CompleteTask = channel.unary_unary(
                '/interlock.state.v1.TaskService/CompleteTask',
                request_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.CompleteTaskRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.CompleteTaskResponse.FromString,
                _registered_method=True)
        self.FailTask = channel.unary_unary(
                '/interlock.state.v1.TaskService/FailTask',
                request_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.FailTaskRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.FailTaskResponse.FromString,
                _registered_method=True)
        self.ListTasks = channel.unary_unary(
                '/interlock.state.v1.TaskService/ListTasks',
                request_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ListTasksRequest.SerializeToString,
                response_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ListTasksResponse.FromString,
                _registered_method=True)


class TaskServiceServicer:
    """TaskService gives work to runners: start or resume an agent (S11.5). A task is claimed.
    A runner that dies loses its claim and the task is given again, so a task may be given
    more than once, always with the same id.
    """

    def ClaimTasks(self, request, context):
        """ClaimTasks streams tasks to a runner, at most max_in_flight at a time. The claim of
        each must be extended until the task is completed or has failed.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ExtendTask(self, request, context):
        """ExtendTask keeps a claim for another claim time.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def CompleteTask(self, request, context):
        """CompleteTask says that the agent has run and stopped. It stops the session too.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def FailTask(self, request, context):
        """FailTask says that the agent could not run, or ended with an error. The task is given
        again, or counts as a failed attempt.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListTasks(self, request, context):
        """ListTasks returns tasks, newest session first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_TaskServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'ClaimTasks': grpc.unary_stream_rpc_method_handler(
                    servicer.ClaimTasks,
                    request_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ClaimTasksRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ClaimTasksResponse.SerializeToString,
            ),
            'ExtendTask': grpc.unary_unary_rpc_method_handler(
                    servicer.ExtendTask,
                    request_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ExtendTaskRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ExtendTaskResponse.SerializeToString,
            ),
            'CompleteTask': grpc.unary_unary_rpc_method_handler(
                    servicer.CompleteTask,
                    request_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.CompleteTaskRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.CompleteTaskResponse.SerializeToString,
            ),
            'FailTask': grpc.unary_unary_rpc_method_handler(
                    servicer.FailTask,
                    request_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.FailTaskRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.FailTaskResponse.SerializeToString,
            ),
            'ListTasks': grpc.unary_unary_rpc_method_handler(
                    servicer.ListTasks,
                    request_deserializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ListTasksRequest.FromString,
                    response_serializer=interlock_dot_state_dot_v1_dot_task__service__pb2.ListTasksResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.state.v1.TaskService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.state.v1.TaskService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class TaskService:
    """TaskService gives work to runners: start or resume an agent (S11.5). A task is claimed.
    A runner that dies loses its claim and the task is given again, so a task may be given
    more than once, always with the same id.
    """

    @staticmethod
    def ClaimTasks(request,
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
            '/interlock.state.v1.TaskService/ClaimTasks',
            interlock_dot_state_dot_v1_dot_task__service__pb2.ClaimTasksRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_task__service__pb2.ClaimTasksResponse.FromString,
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
    def ExtendTask(request,
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
            '/interlock.state.v1.TaskService/ExtendTask',
            interlock_dot_state_dot_v1_dot_task__service__pb2.ExtendTaskRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_task__service__pb2.ExtendTaskResponse.FromString,
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
    def CompleteTask(request,
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
            '/interlock.state.v1.TaskService/CompleteTask',
            interlock_dot_state_dot_v1_dot_task__service__pb2.CompleteTaskRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_task__service__pb2.CompleteTaskResponse.FromString,
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
    def FailTask(request,
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
            '/interlock.state.v1.TaskService/FailTask',
            interlock_dot_state_dot_v1_dot_task__service__pb2.FailTaskRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_task__service__pb2.FailTaskResponse.FromString,
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
    def ListTasks(request,
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
            '/interlock.state.v1.TaskService/ListTasks',
            interlock_dot_state_dot_v1_dot_task__service__pb2.ListTasksRequest.SerializeToString,
            interlock_dot_state_dot_v1_dot_task__service__pb2.ListTasksResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
