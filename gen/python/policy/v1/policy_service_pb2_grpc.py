# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.policy.v1 import exception_pb2 as interlock_dot_policy_dot_v1_dot_exception__pb2
from interlock.gen.policy.v1 import policy_service_pb2 as interlock_dot_policy_dot_v1_dot_policy__service__pb2

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
        + ' but the generated code in interlock/policy/v1/policy_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class PolicyServiceStub:
    """PolicyService owns policies: who may call what, how often, and at what cost (S7).
    Versions are immutable.
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.RegisterPolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/RegisterPolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.RegisterPolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.RegisterPolicyResponse.FromString,
                _registered_method=True)
        self.GetPolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/GetPolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyResponse.FromString,
                _registered_method=True)
        self.ListPolicies = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/ListPolicies',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ListPoliciesRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ListPoliciesResponse.FromString,
                _registered_method=True)
        self.PromotePolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/PromotePolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.PromotePolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.PromotePolicyResponse.FromString,
                _registered_method=True)
        self.DeletePolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/DeletePolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DeletePolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DeletePolicyResponse.FromString,
                _registered_method=True)
        self.AttachPolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/AttachPolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.AttachPolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.AttachPolicyResponse.FromString,
                _registered_method=True)
        self.DetachPolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/DetachPolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DetachPolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DetachPolicyResponse.FromString,
                _registered_method=True)
        self.ShadowWorkflow = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/ShadowWorkflow',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ShadowWorkflowRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ShadowWorkflowResponse.FromString,
                _registered_method=True)
        self.GetPolicyUsage = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/GetPolicyUsage',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyUsageRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyUsageResponse.FromString,
                _registered_method=True)
        self.SimulatePolicy = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/SimulatePolicy',
                request_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.SimulatePolicyRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.SimulatePolicyResponse.FromString,
                _registered_method=True)
        self.AddException = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/AddException',
                request_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.AddExceptionRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.AddExceptionResponse.FromString,
                _registered_method=True)
        self.ListExceptions = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/ListExceptions',
                request_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ListExceptionsRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ListExceptionsResponse.FromString,
                _registered_method=True)
        self.ConfirmException = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/ConfirmException',
                request_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ConfirmExceptionRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ConfirmExceptionResponse.FromString,
                _registered_method=True)
        self.EndException = channel.unary_unary(
                '/interlock.policy.v1.PolicyService/EndException',
                request_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.EndExceptionRequest.SerializeToString,
                response_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.EndExceptionResponse.FromString,
                _registered_method=True)


class PolicyServiceServicer:
    """PolicyService owns policies: who may call what, how often, and at what cost (S7).
    Versions are immutable.
    """

    def RegisterPolicy(self, request, context):
        """RegisterPolicy validates and stores a policy as its next version: live at once, or
        as the shadow that is judged next to the live one and never enforced. The content of
        an existing version returns that version. An invalid definition is INVALID_ARGUMENT
        with one BadRequest violation per problem.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetPolicy(self, request, context):
        """GetPolicy returns one version, by default the live one. NOT_FOUND when there is no
        such version.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListPolicies(self, request, context):
        """ListPolicies returns all policies. It is a registry: ordered by name, without a
        filter.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def PromotePolicy(self, request, context):
        """PromotePolicy makes a version live, such as a shadow, or an older version again.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeletePolicy(self, request, context):
        """DeletePolicy removes a policy that is attached to nothing. Its versions stay readable
        by number.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def AttachPolicy(self, request, context):
        """AttachPolicy makes a policy judge the calls of workflows, processes, sessions with all
        below them, agents, roles, principals, people, groups or everyone, in one commit.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DetachPolicy(self, request, context):
        """DetachPolicy undoes AttachPolicy.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ShadowWorkflow(self, request, context):
        """ShadowWorkflow stores a definition that the calls of the workflow of its name are
        judged by next to the live one, never enforced. An empty definition removes the shadow
        of the workflow.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetPolicyUsage(self, request, context):
        """GetPolicyUsage returns what the limits of a policy have counted.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def SimulatePolicy(self, request, context):
        """SimulatePolicy replays recorded calls against a candidate and returns those that it
        would decide otherwise.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def AddException(self, request, context):
        """AddException lets calls pass one rule of a policy until a time. The rule must permit
        exceptions. Where the policy demands four eyes, it counts once another operator has
        confirmed it.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListExceptions(self, request, context):
        """ListExceptions returns the exceptions that have not ended.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ConfirmException(self, request, context):
        """ConfirmException is the second operator's consent to an exception.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def EndException(self, request, context):
        """EndException ends an exception before its time.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_PolicyServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'RegisterPolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.RegisterPolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.RegisterPolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.RegisterPolicyResponse.SerializeToString,
            ),
            'GetPolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.GetPolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyResponse.SerializeToString,
            ),
            'ListPolicies': grpc.unary_unary_rpc_method_handler(
                    servicer.ListPolicies,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ListPoliciesRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ListPoliciesResponse.SerializeToString,
            ),
            'PromotePolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.PromotePolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.PromotePolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.PromotePolicyResponse.SerializeToString,
            ),
            'DeletePolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.DeletePolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DeletePolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DeletePolicyResponse.SerializeToString,
            ),
            'AttachPolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.AttachPolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.AttachPolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.AttachPolicyResponse.SerializeToString,
            ),
            'DetachPolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.DetachPolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DetachPolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.DetachPolicyResponse.SerializeToString,
            ),
            'ShadowWorkflow': grpc.unary_unary_rpc_method_handler(
                    servicer.ShadowWorkflow,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ShadowWorkflowRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.ShadowWorkflowResponse.SerializeToString,
            ),
            'GetPolicyUsage': grpc.unary_unary_rpc_method_handler(
                    servicer.GetPolicyUsage,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyUsageRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyUsageResponse.SerializeToString,
            ),
            'SimulatePolicy': grpc.unary_unary_rpc_method_handler(
                    servicer.SimulatePolicy,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.SimulatePolicyRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_policy__service__pb2.SimulatePolicyResponse.SerializeToString,
            ),
            'AddException': grpc.unary_unary_rpc_method_handler(
                    servicer.AddException,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.AddExceptionRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.AddExceptionResponse.SerializeToString,
            ),
            'ListExceptions': grpc.unary_unary_rpc_method_handler(
                    servicer.ListExceptions,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ListExceptionsRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ListExceptionsResponse.SerializeToString,
            ),
            'ConfirmException': grpc.unary_unary_rpc_method_handler(
                    servicer.ConfirmException,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ConfirmExceptionRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.ConfirmExceptionResponse.SerializeToString,
            ),
            'EndException': grpc.unary_unary_rpc_method_handler(
                    servicer.EndException,
                    request_deserializer=interlock_dot_policy_dot_v1_dot_exception__pb2.EndExceptionRequest.FromString,
                    response_serializer=interlock_dot_policy_dot_v1_dot_exception__pb2.EndExceptionResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.policy.v1.PolicyService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.policy.v1.PolicyService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class PolicyService:
    """PolicyService owns policies: who may call what, how often, and at what cost (S7).
    Versions are immutable.
    """

    @staticmethod
    def RegisterPolicy(request,
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
            '/interlock.policy.v1.PolicyService/RegisterPolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.RegisterPolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.RegisterPolicyResponse.FromString,
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
    def GetPolicy(request,
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
            '/interlock.policy.v1.PolicyService/GetPolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyResponse.FromString,
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
    def ListPolicies(request,
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
            '/interlock.policy.v1.PolicyService/ListPolicies',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.ListPoliciesRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.ListPoliciesResponse.FromString,
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
    def PromotePolicy(request,
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
            '/interlock.policy.v1.PolicyService/PromotePolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.PromotePolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.PromotePolicyResponse.FromString,
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
    def DeletePolicy(request,
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
            '/interlock.policy.v1.PolicyService/DeletePolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.DeletePolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.DeletePolicyResponse.FromString,
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
    def AttachPolicy(request,
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
            '/interlock.policy.v1.PolicyService/AttachPolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.AttachPolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.AttachPolicyResponse.FromString,
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
    def DetachPolicy(request,
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
            '/interlock.policy.v1.PolicyService/DetachPolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.DetachPolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.DetachPolicyResponse.FromString,
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
    def ShadowWorkflow(request,
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
            '/interlock.policy.v1.PolicyService/ShadowWorkflow',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.ShadowWorkflowRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.ShadowWorkflowResponse.FromString,
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
    def GetPolicyUsage(request,
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
            '/interlock.policy.v1.PolicyService/GetPolicyUsage',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyUsageRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.GetPolicyUsageResponse.FromString,
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
    def SimulatePolicy(request,
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
            '/interlock.policy.v1.PolicyService/SimulatePolicy',
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.SimulatePolicyRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_policy__service__pb2.SimulatePolicyResponse.FromString,
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
    def AddException(request,
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
            '/interlock.policy.v1.PolicyService/AddException',
            interlock_dot_policy_dot_v1_dot_exception__pb2.AddExceptionRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_exception__pb2.AddExceptionResponse.FromString,
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
    def ListExceptions(request,
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
            '/interlock.policy.v1.PolicyService/ListExceptions',
            interlock_dot_policy_dot_v1_dot_exception__pb2.ListExceptionsRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_exception__pb2.ListExceptionsResponse.FromString,
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
    def ConfirmException(request,
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
            '/interlock.policy.v1.PolicyService/ConfirmException',
            interlock_dot_policy_dot_v1_dot_exception__pb2.ConfirmExceptionRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_exception__pb2.ConfirmExceptionResponse.FromString,
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
    def EndException(request,
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
            '/interlock.policy.v1.PolicyService/EndException',
            interlock_dot_policy_dot_v1_dot_exception__pb2.EndExceptionRequest.SerializeToString,
            interlock_dot_policy_dot_v1_dot_exception__pb2.EndExceptionResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
