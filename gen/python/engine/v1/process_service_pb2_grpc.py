# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.engine.v1 import process_service_pb2 as interlock_dot_engine_dot_v1_dot_process__service__pb2

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
        + ' but the generated code in interlock/engine/v1/process_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class ProcessServiceStub:
    """ProcessService owns processes: machines in question form, on the same engine (S8).
    Their runs are runs like any other.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.RegisterProcess = channel.unary_unary(
                '/interlock.engine.v1.ProcessService/RegisterProcess',
                request_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.RegisterProcessRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.RegisterProcessResponse.FromString,
                _registered_method=True)
        self.GetProcess = channel.unary_unary(
                '/interlock.engine.v1.ProcessService/GetProcess',
                request_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.GetProcessRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.GetProcessResponse.FromString,
                _registered_method=True)
        self.ListProcesses = channel.unary_unary(
                '/interlock.engine.v1.ProcessService/ListProcesses',
                request_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.ListProcessesRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.ListProcessesResponse.FromString,
                _registered_method=True)
        self.StartProcess = channel.unary_unary(
                '/interlock.engine.v1.ProcessService/StartProcess',
                request_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.StartProcessRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.StartProcessResponse.FromString,
                _registered_method=True)
        self.AnswerQuestion = channel.unary_unary(
                '/interlock.engine.v1.ProcessService/AnswerQuestion',
                request_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.AnswerQuestionRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.AnswerQuestionResponse.FromString,
                _registered_method=True)


class ProcessServiceServicer:
    """ProcessService owns processes: machines in question form, on the same engine (S8).
    Their runs are runs like any other.
    """

    def RegisterProcess(self, request, context):
        """RegisterProcess validates and stores a definition, as
        WorkflowService.RegisterWorkflow does. Workflows and processes share one set of
        names.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetProcess(self, request, context):
        """GetProcess returns one version, by default the live one. NOT_FOUND when there is
        none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListProcesses(self, request, context):
        """ListProcesses returns the live version of every process, or else the latest. It is a registry:
        ordered by name, without a filter.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def StartProcess(self, request, context):
        """StartProcess starts a run and returns the initial prompt with the first question.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def AnswerQuestion(self, request, context):
        """AnswerQuestion answers the present question (S8.1). A refused answer is an OK
        response with accepted = false that lists the valid answers.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_ProcessServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'RegisterProcess': grpc.unary_unary_rpc_method_handler(
                    servicer.RegisterProcess,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.RegisterProcessRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.RegisterProcessResponse.SerializeToString,
            ),
            'GetProcess': grpc.unary_unary_rpc_method_handler(
                    servicer.GetProcess,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.GetProcessRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.GetProcessResponse.SerializeToString,
            ),
            'ListProcesses': grpc.unary_unary_rpc_method_handler(
                    servicer.ListProcesses,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.ListProcessesRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.ListProcessesResponse.SerializeToString,
            ),
            'StartProcess': grpc.unary_unary_rpc_method_handler(
                    servicer.StartProcess,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.StartProcessRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.StartProcessResponse.SerializeToString,
            ),
            'AnswerQuestion': grpc.unary_unary_rpc_method_handler(
                    servicer.AnswerQuestion,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.AnswerQuestionRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_process__service__pb2.AnswerQuestionResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.engine.v1.ProcessService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.engine.v1.ProcessService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class ProcessService:
    """ProcessService owns processes: machines in question form, on the same engine (S8).
    Their runs are runs like any other.
    """

    @staticmethod
    def RegisterProcess(request,
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
            '/interlock.engine.v1.ProcessService/RegisterProcess',
            interlock_dot_engine_dot_v1_dot_process__service__pb2.RegisterProcessRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_process__service__pb2.RegisterProcessResponse.FromString,
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
    def GetProcess(request,
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
            '/interlock.engine.v1.ProcessService/GetProcess',
            interlock_dot_engine_dot_v1_dot_process__service__pb2.GetProcessRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_process__service__pb2.GetProcessResponse.FromString,
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
    def ListProcesses(request,
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
            '/interlock.engine.v1.ProcessService/ListProcesses',
            interlock_dot_engine_dot_v1_dot_process__service__pb2.ListProcessesRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_process__service__pb2.ListProcessesResponse.FromString,
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
    def StartProcess(request,
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
            '/interlock.engine.v1.ProcessService/StartProcess',
            interlock_dot_engine_dot_v1_dot_process__service__pb2.StartProcessRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_process__service__pb2.StartProcessResponse.FromString,
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
    def AnswerQuestion(request,
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
            '/interlock.engine.v1.ProcessService/AnswerQuestion',
            interlock_dot_engine_dot_v1_dot_process__service__pb2.AnswerQuestionRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_process__service__pb2.AnswerQuestionResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
