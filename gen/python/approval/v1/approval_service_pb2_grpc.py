# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.approval.v1 import approval_service_pb2 as interlock_dot_approval_dot_v1_dot_approval__service__pb2

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
        + ' but the generated code in interlock/approval/v1/approval_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class ApprovalServiceStub:
    """ApprovalService asks humans and keeps what they decide (S9).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreateApproval = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/CreateApproval',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CreateApprovalRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CreateApprovalResponse.FromString,
                _registered_method=True)
        self.GetApproval = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/GetApproval',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalResponse.FromString,
                _registered_method=True)
        self.ListApprovals = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/ListApprovals',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListApprovalsRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListApprovalsResponse.FromString,
                _registered_method=True)
        self.GetApprovalStats = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/GetApprovalStats',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatsRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatsResponse.FromString,
                _registered_method=True)
        self.DecideApproval = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/DecideApproval',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalResponse.FromString,
                _registered_method=True)
        self.DecideApprovals = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/DecideApprovals',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalsRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalsResponse.FromString,
                _registered_method=True)
        self.GetApprovalStatement = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/GetApprovalStatement',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatementRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatementResponse.FromString,
                _registered_method=True)
        self.ListLeases = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/ListLeases',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListLeasesRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListLeasesResponse.FromString,
                _registered_method=True)
        self.RevokeLease = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/RevokeLease',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.RevokeLeaseRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.RevokeLeaseResponse.FromString,
                _registered_method=True)
        self.CancelApproval = channel.unary_unary(
                '/interlock.approval.v1.ApprovalService/CancelApproval',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CancelApprovalRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CancelApprovalResponse.FromString,
                _registered_method=True)
        self.WatchApproval = channel.unary_stream(
                '/interlock.approval.v1.ApprovalService/WatchApproval',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalResponse.FromString,
                _registered_method=True)
        self.WatchApprovals = channel.unary_stream(
                '/interlock.approval.v1.ApprovalService/WatchApprovals',
                request_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalsRequest.SerializeToString,
                response_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalsResponse.FromString,
                _registered_method=True)


class ApprovalServiceServicer:
    """ApprovalService asks humans and keeps what they decide (S9).
    """

    def CreateApproval(self, request, context):
        """CreateApproval asks. The same approval_id returns the first with created = false, as
        does reuse of an action.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetApproval(self, request, context):
        """GetApproval returns one approval. NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListApprovals(self, request, context):
        """ListApprovals returns approvals, newest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetApprovalStats(self, request, context):
        """GetApprovalStats counts the questions that people were asked, and their answers.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DecideApproval(self, request, context):
        """DecideApproval casts the caller's vote. It is durable before it is returned.
        FAILED_PRECONDITION when the approval was decided before, PERMISSION_DENIED when the
        caller may not decide it.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DecideApprovals(self, request, context):
        """DecideApprovals casts the same vote on several approvals that ask for the same thing:
        on all of them or, when one cannot be, on none. FAILED_PRECONDITION names those that
        were decided before or that differ.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetApprovalStatement(self, request, context):
        """GetApprovalStatement returns the statement that the caller signs to cast a vote, good for a
        few minutes. PERMISSION_DENIED when the caller is no person, or may not decide.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListLeases(self, request, context):
        """ListLeases returns the leases that last, newest first.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RevokeLease(self, request, context):
        """RevokeLease ends a lease. NOT_FOUND when there is none that lasts.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def CancelApproval(self, request, context):
        """CancelApproval withdraws the question.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def WatchApproval(self, request, context):
        """WatchApproval streams one approval now and after every change until it is final.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def WatchApprovals(self, request, context):
        """WatchApprovals streams every approval of the namespace that changes.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_ApprovalServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreateApproval': grpc.unary_unary_rpc_method_handler(
                    servicer.CreateApproval,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CreateApprovalRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CreateApprovalResponse.SerializeToString,
            ),
            'GetApproval': grpc.unary_unary_rpc_method_handler(
                    servicer.GetApproval,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalResponse.SerializeToString,
            ),
            'ListApprovals': grpc.unary_unary_rpc_method_handler(
                    servicer.ListApprovals,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListApprovalsRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListApprovalsResponse.SerializeToString,
            ),
            'GetApprovalStats': grpc.unary_unary_rpc_method_handler(
                    servicer.GetApprovalStats,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatsRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatsResponse.SerializeToString,
            ),
            'DecideApproval': grpc.unary_unary_rpc_method_handler(
                    servicer.DecideApproval,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalResponse.SerializeToString,
            ),
            'DecideApprovals': grpc.unary_unary_rpc_method_handler(
                    servicer.DecideApprovals,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalsRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalsResponse.SerializeToString,
            ),
            'GetApprovalStatement': grpc.unary_unary_rpc_method_handler(
                    servicer.GetApprovalStatement,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatementRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatementResponse.SerializeToString,
            ),
            'ListLeases': grpc.unary_unary_rpc_method_handler(
                    servicer.ListLeases,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListLeasesRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListLeasesResponse.SerializeToString,
            ),
            'RevokeLease': grpc.unary_unary_rpc_method_handler(
                    servicer.RevokeLease,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.RevokeLeaseRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.RevokeLeaseResponse.SerializeToString,
            ),
            'CancelApproval': grpc.unary_unary_rpc_method_handler(
                    servicer.CancelApproval,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CancelApprovalRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.CancelApprovalResponse.SerializeToString,
            ),
            'WatchApproval': grpc.unary_stream_rpc_method_handler(
                    servicer.WatchApproval,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalResponse.SerializeToString,
            ),
            'WatchApprovals': grpc.unary_stream_rpc_method_handler(
                    servicer.WatchApprovals,
                    request_deserializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalsRequest.FromString,
                    response_serializer=interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalsResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.approval.v1.ApprovalService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.approval.v1.ApprovalService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class ApprovalService:
    """ApprovalService asks humans and keeps what they decide (S9).
    """

    @staticmethod
    def CreateApproval(request,
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
            '/interlock.approval.v1.ApprovalService/CreateApproval',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.CreateApprovalRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.CreateApprovalResponse.FromString,
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
    def GetApproval(request,
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
            '/interlock.approval.v1.ApprovalService/GetApproval',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalResponse.FromString,
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
    def ListApprovals(request,
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
            '/interlock.approval.v1.ApprovalService/ListApprovals',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListApprovalsRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListApprovalsResponse.FromString,
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
    def GetApprovalStats(request,
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
            '/interlock.approval.v1.ApprovalService/GetApprovalStats',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatsRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatsResponse.FromString,
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
    def DecideApproval(request,
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
            '/interlock.approval.v1.ApprovalService/DecideApproval',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalResponse.FromString,
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
    def DecideApprovals(request,
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
            '/interlock.approval.v1.ApprovalService/DecideApprovals',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalsRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.DecideApprovalsResponse.FromString,
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
    def GetApprovalStatement(request,
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
            '/interlock.approval.v1.ApprovalService/GetApprovalStatement',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatementRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.GetApprovalStatementResponse.FromString,
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
    def ListLeases(request,
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
            '/interlock.approval.v1.ApprovalService/ListLeases',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListLeasesRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.ListLeasesResponse.FromString,
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
    def RevokeLease(request,
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
            '/interlock.approval.v1.ApprovalService/RevokeLease',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.RevokeLeaseRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.RevokeLeaseResponse.FromString,
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
    def CancelApproval(request,
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
            '/interlock.approval.v1.ApprovalService/CancelApproval',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.CancelApprovalRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.CancelApprovalResponse.FromString,
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
    def WatchApproval(request,
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
            '/interlock.approval.v1.ApprovalService/WatchApproval',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalResponse.FromString,
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
    def WatchApprovals(request,
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
            '/interlock.approval.v1.ApprovalService/WatchApprovals',
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalsRequest.SerializeToString,
            interlock_dot_approval_dot_v1_dot_approval__service__pb2.WatchApprovalsResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
