# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.policy.v1 import decision_service_pb2 as interlock_dot_policy_dot_v1_dot_decision__service__pb2

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
        + ' but the generated code in interlock/policy/v1/decision_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class DecisionServiceStub:
    """DecisionService reads the log of decisions (S3, S7). Nothing edits it.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.ListDecisions = channel.unary_unary(
                '/interlock.policy.v1.DecisionService/ListDecisions',
                request_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListDecisionsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListDecisionsResponse.FromString,
                _registered_method=True)
        self.GetDecision = channel.unary_unary(
                '/interlock.policy.v1.DecisionService/GetDecision',
                request_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.GetDecisionRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.GetDecisionResponse.FromString,
                _registered_method=True)
        self.VerifyDecisions = channel.unary_unary(
                '/interlock.policy.v1.DecisionService/VerifyDecisions',
                request_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.VerifyDecisionsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.VerifyDecisionsResponse.FromString,
                _registered_method=True)
        self.ListRefusals = channel.unary_unary(
                '/interlock.policy.v1.DecisionService/ListRefusals',
                request_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListRefusalsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListRefusalsResponse.FromString,
                _registered_method=True)


class DecisionServiceServicer:
    """DecisionService reads the log of decisions (S3, S7). Nothing edits it.
    """

    def ListDecisions(self, request, context):
        """ListDecisions returns decisions, newest first: partitions by the start of their
        root run, and within a partition the last record first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetDecision(self, request, context):
        """GetDecision returns the decision on one call, the last one when there are several.
        NOT_FOUND says which reasons there may be.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def VerifyDecisions(self, request, context):
        """VerifyDecisions recomputes the hash chains of the log and returns what is wrong: a
        changed, missing or reordered record.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListRefusals(self, request, context):
        """ListRefusals returns the last callers that were refused before there was a decision, the
        newest first: at most 100 in a namespace.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_DecisionServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'ListDecisions': grpc.unary_unary_rpc_method_handler(
                    servicer.ListDecisions,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListDecisionsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListDecisionsResponse.SerializeToString,
            ),
            'GetDecision': grpc.unary_unary_rpc_method_handler(
                    servicer.GetDecision,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.GetDecisionRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.GetDecisionResponse.SerializeToString,
            ),
            'VerifyDecisions': grpc.unary_unary_rpc_method_handler(
                    servicer.VerifyDecisions,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.VerifyDecisionsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.VerifyDecisionsResponse.SerializeToString,
            ),
            'ListRefusals': grpc.unary_unary_rpc_method_handler(
                    servicer.ListRefusals,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListRefusalsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListRefusalsResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.policy.v1.DecisionService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.policy.v1.DecisionService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class DecisionService:
    """DecisionService reads the log of decisions (S3, S7). Nothing edits it.
    """

    @staticmethod
    def ListDecisions(request,
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
            '/interlock.policy.v1.DecisionService/ListDecisions',
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListDecisionsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListDecisionsResponse.FromString,
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
    def GetDecision(request,
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
            '/interlock.policy.v1.DecisionService/GetDecision',
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.GetDecisionRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.GetDecisionResponse.FromString,
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
    def VerifyDecisions(request,
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
            '/interlock.policy.v1.DecisionService/VerifyDecisions',
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.VerifyDecisionsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.VerifyDecisionsResponse.FromString,
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
    def ListRefusals(request,
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
            '/interlock.policy.v1.DecisionService/ListRefusals',
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListRefusalsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_decision__service__pb2.ListRefusalsResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
