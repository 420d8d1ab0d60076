# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.engine.v1 import schedule_service_pb2 as interlock_dot_engine_dot_v1_dot_schedule__service__pb2

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
        + ' but the generated code in interlock/engine/v1/schedule_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class ScheduleServiceStub:
    """ScheduleService owns schedules, which start runs at times (S25.20). Only operators change them.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/CreateSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.CreateScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.CreateScheduleResponse.FromString,
                _registered_method=True)
        self.GetSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/GetSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.GetScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.GetScheduleResponse.FromString,
                _registered_method=True)
        self.ListSchedules = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/ListSchedules',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListSchedulesRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListSchedulesResponse.FromString,
                _registered_method=True)
        self.UpdateSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/UpdateSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.UpdateScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.UpdateScheduleResponse.FromString,
                _registered_method=True)
        self.PauseSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/PauseSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.PauseScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.PauseScheduleResponse.FromString,
                _registered_method=True)
        self.ResumeSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/ResumeSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ResumeScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ResumeScheduleResponse.FromString,
                _registered_method=True)
        self.DeleteSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/DeleteSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.DeleteScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.DeleteScheduleResponse.FromString,
                _registered_method=True)
        self.TriggerSchedule = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/TriggerSchedule',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.TriggerScheduleRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.TriggerScheduleResponse.FromString,
                _registered_method=True)
        self.ListScheduleTimes = channel.unary_unary(
                '/interlock.engine.v1.ScheduleService/ListScheduleTimes',
                request_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListScheduleTimesRequest.SerializeToString,
                response_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListScheduleTimesResponse.FromString,
                _registered_method=True)


class ScheduleServiceServicer:
    """ScheduleService owns schedules, which start runs at times (S25.20). Only operators change them.
    """

    def CreateSchedule(self, request, context):
        """CreateSchedule stores a schedule under its name. NAME_TAKEN when there is another.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetSchedule(self, request, context):
        """GetSchedule returns a schedule by its name. NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListSchedules(self, request, context):
        """ListSchedules returns schedules, ordered by name.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def UpdateSchedule(self, request, context):
        """UpdateSchedule replaces the definition of a schedule. It counts from now on, as the caller's.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def PauseSchedule(self, request, context):
        """PauseSchedule keeps a schedule from starting runs.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ResumeSchedule(self, request, context):
        """ResumeSchedule lets a paused schedule go on. Times that have passed were missed.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeleteSchedule(self, request, context):
        """DeleteSchedule removes a schedule. The runs that it has started go on.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def TriggerSchedule(self, request, context):
        """TriggerSchedule starts a run of a schedule now, as the schedule would. It starts one also of a paused schedule.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListScheduleTimes(self, request, context):
        """ListScheduleTimes returns the next times of a schedule.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_ScheduleServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.CreateScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.CreateScheduleResponse.SerializeToString,
            ),
            'GetSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.GetSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.GetScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.GetScheduleResponse.SerializeToString,
            ),
            'ListSchedules': grpc.unary_unary_rpc_method_handler(
                    servicer.ListSchedules,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListSchedulesRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListSchedulesResponse.SerializeToString,
            ),
            'UpdateSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.UpdateSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.UpdateScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.UpdateScheduleResponse.SerializeToString,
            ),
            'PauseSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.PauseSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.PauseScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.PauseScheduleResponse.SerializeToString,
            ),
            'ResumeSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.ResumeSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ResumeScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ResumeScheduleResponse.SerializeToString,
            ),
            'DeleteSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.DeleteSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.DeleteScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.DeleteScheduleResponse.SerializeToString,
            ),
            'TriggerSchedule': grpc.unary_unary_rpc_method_handler(
                    servicer.TriggerSchedule,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.TriggerScheduleRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.TriggerScheduleResponse.SerializeToString,
            ),
            'ListScheduleTimes': grpc.unary_unary_rpc_method_handler(
                    servicer.ListScheduleTimes,
                    request_deserializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListScheduleTimesRequest.FromString,
                    response_serializer=interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListScheduleTimesResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.engine.v1.ScheduleService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.engine.v1.ScheduleService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class ScheduleService:
    """ScheduleService owns schedules, which start runs at times (S25.20). Only operators change them.
    """

    @staticmethod
    def CreateSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/CreateSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.CreateScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.CreateScheduleResponse.FromString,
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
    def GetSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/GetSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.GetScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.GetScheduleResponse.FromString,
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
    def ListSchedules(request,
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
            '/interlock.engine.v1.ScheduleService/ListSchedules',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListSchedulesRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListSchedulesResponse.FromString,
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
    def UpdateSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/UpdateSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.UpdateScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.UpdateScheduleResponse.FromString,
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
    def PauseSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/PauseSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.PauseScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.PauseScheduleResponse.FromString,
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
    def ResumeSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/ResumeSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ResumeScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ResumeScheduleResponse.FromString,
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
    def DeleteSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/DeleteSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.DeleteScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.DeleteScheduleResponse.FromString,
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
    def TriggerSchedule(request,
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
            '/interlock.engine.v1.ScheduleService/TriggerSchedule',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.TriggerScheduleRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.TriggerScheduleResponse.FromString,
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
    def ListScheduleTimes(request,
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
            '/interlock.engine.v1.ScheduleService/ListScheduleTimes',
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListScheduleTimesRequest.SerializeToString,
            interlock_dot_engine_dot_v1_dot_schedule__service__pb2.ListScheduleTimesResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
