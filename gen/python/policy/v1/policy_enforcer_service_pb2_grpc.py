# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.policy.v1 import policy_enforcer_service_pb2 as interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2

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
        + ' but the generated code in interlock/policy/v1/policy_enforcer_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class PolicyEnforcerServiceStub:
    """PolicyEnforcerService decides which tool calls may be made (S3).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CheckToolCall = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/CheckToolCall',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallResponse.FromString,
                _registered_method=True)
        self.ReportToolCall = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/ReportToolCall',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportToolCallRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportToolCallResponse.FromString,
                _registered_method=True)
        self.StartCommand = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/StartCommand',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.StartCommandRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.StartCommandResponse.FromString,
                _registered_method=True)
        self.FinishCommand = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/FinishCommand',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.FinishCommandRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.FinishCommandResponse.FromString,
                _registered_method=True)
        self.ReportCost = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/ReportCost',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportCostRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportCostResponse.FromString,
                _registered_method=True)
        self.ListOpenCalls = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/ListOpenCalls',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ListOpenCallsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ListOpenCallsResponse.FromString,
                _registered_method=True)
        self.SettleToolCall = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/SettleToolCall',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.SettleToolCallRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.SettleToolCallResponse.FromString,
                _registered_method=True)
        self.ReportRefusal = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/ReportRefusal',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportRefusalRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportRefusalResponse.FromString,
                _registered_method=True)
        self.WhoAmI = channel.unary_unary(
                '/interlock.policy.v1.PolicyEnforcerService/WhoAmI',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.WhoAmIRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.WhoAmIResponse.FromString,
                _registered_method=True)
        self.CheckToolCalls = channel.stream_stream(
                '/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallsResponse.FromString,
                _registered_method=True)


class PolicyEnforcerServiceServicer:
    """PolicyEnforcerService decides which tool calls may be made (S3).
    """

    def CheckToolCall(self, request, context):
        """CheckToolCall decides one tool call. A denial is an OK response. The decision is
        durable and announced before it is returned.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ReportToolCall(self, request, context):
        """ReportToolCall records the result of a call that was allowed.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def StartCommand(self, request, context):
        """StartCommand claims a command line that was allowed, for the jail that runs it: once, and for
        exactly the line that was judged.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def FinishCommand(self, request, context):
        """FinishCommand records what the jail has witnessed of that command. It counts as an observed
        report of the call's outcome.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ReportCost(self, request, context):
        """ReportCost counts what a session has cost that the report of no call tells, such as the
        tokens of its agent's model (S15.1).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListOpenCalls(self, request, context):
        """ListOpenCalls returns the allowed calls of a run whose outcome nobody has reported, where
        its workflow keeps account of effects (S16).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def SettleToolCall(self, request, context):
        """SettleToolCall records how such a call has ended (S16.4).
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ReportRefusal(self, request, context):
        """ReportRefusal announces a caller that a gateway without a store has refused before there was
        a decision. Only services may report one.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def WhoAmI(self, request, context):
        """WhoAmI returns who the caller is here, and on whose behalf it acts.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def CheckToolCalls(self, request_iterator, context):
        """CheckToolCalls is CheckToolCall for callers that keep one stream open. Every
        request message gets one response message with the same correlation_id. Responses
        may overtake each other.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_PolicyEnforcerServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CheckToolCall': grpc.unary_unary_rpc_method_handler(
                    servicer.CheckToolCall,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallResponse.SerializeToString,
            ),
            'ReportToolCall': grpc.unary_unary_rpc_method_handler(
                    servicer.ReportToolCall,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportToolCallRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportToolCallResponse.SerializeToString,
            ),
            'StartCommand': grpc.unary_unary_rpc_method_handler(
                    servicer.StartCommand,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.StartCommandRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.StartCommandResponse.SerializeToString,
            ),
            'FinishCommand': grpc.unary_unary_rpc_method_handler(
                    servicer.FinishCommand,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.FinishCommandRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.FinishCommandResponse.SerializeToString,
            ),
            'ReportCost': grpc.unary_unary_rpc_method_handler(
                    servicer.ReportCost,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportCostRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportCostResponse.SerializeToString,
            ),
            'ListOpenCalls': grpc.unary_unary_rpc_method_handler(
                    servicer.ListOpenCalls,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ListOpenCallsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ListOpenCallsResponse.SerializeToString,
            ),
            'SettleToolCall': grpc.unary_unary_rpc_method_handler(
                    servicer.SettleToolCall,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.SettleToolCallRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.SettleToolCallResponse.SerializeToString,
            ),
            'ReportRefusal': grpc.unary_unary_rpc_method_handler(
                    servicer.ReportRefusal,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportRefusalRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportRefusalResponse.SerializeToString,
            ),
            'WhoAmI': grpc.unary_unary_rpc_method_handler(
                    servicer.WhoAmI,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.WhoAmIRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.WhoAmIResponse.SerializeToString,
            ),
            'CheckToolCalls': grpc.stream_stream_rpc_method_handler(
                    servicer.CheckToolCalls,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallsResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.policy.v1.PolicyEnforcerService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.policy.v1.PolicyEnforcerService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class PolicyEnforcerService:
    """PolicyEnforcerService decides which tool calls may be made (S3).
    """

    @staticmethod
    def CheckToolCall(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/CheckToolCall',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallResponse.FromString,
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
    def ReportToolCall(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/ReportToolCall',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportToolCallRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportToolCallResponse.FromString,
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
    def StartCommand(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/StartCommand',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.StartCommandRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.StartCommandResponse.FromString,
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
    def FinishCommand(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/FinishCommand',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.FinishCommandRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.FinishCommandResponse.FromString,
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
    def ReportCost(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/ReportCost',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportCostRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportCostResponse.FromString,
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
    def ListOpenCalls(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/ListOpenCalls',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ListOpenCallsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ListOpenCallsResponse.FromString,
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
    def SettleToolCall(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/SettleToolCall',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.SettleToolCallRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.SettleToolCallResponse.FromString,
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
    def ReportRefusal(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/ReportRefusal',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportRefusalRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.ReportRefusalResponse.FromString,
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
    def WhoAmI(request,
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
            '/interlock.policy.v1.PolicyEnforcerService/WhoAmI',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.WhoAmIRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.WhoAmIResponse.FromString,
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
    def CheckToolCalls(request_iterator,
            target,
            options=(),
            channel_credentials=None,
            call_credentials=None,
            insecure=False,
            compression=None,
            wait_for_ready=None,
            timeout=None,
            metadata=None):
        return grpc.experimental.stream_stream(
            request_iterator,
            target,
            '/interlock.policy.v1.PolicyEnforcerService/CheckToolCalls',
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__enforcer__service__pb2.CheckToolCallsResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
