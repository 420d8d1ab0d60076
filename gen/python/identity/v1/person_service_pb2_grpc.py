# Code generated from proto/ by `make generate`. DO NOT EDIT.
"""Client and server classes corresponding to protobuf-defined services."""
import grpc
import warnings

from interlock.gen.identity.v1 import person_service_pb2 as interlock_dot_identity_dot_v1_dot_person__service__pb2

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
        + ' but the generated code in interlock/identity/v1/person_service_pb2_grpc.py depends on'
        + f' grpcio>={GRPC_GENERATED_VERSION}.'
        + f' Please upgrade your grpc module to grpcio>={GRPC_GENERATED_VERSION}'
        + f' or downgrade your generated code using grpcio-tools<={GRPC_VERSION}.'
    )


class PersonServiceStub:
    """PersonService owns people. Operators change them. A person may change their own keys, where
    they have shown presence (S23.12).
    """

    def __init__(self, channel):
        """Constructor.

        Args:
            channel: A grpc.Channel.
        """
        self.CreatePerson = channel.unary_unary(
                '/interlock.identity.v1.PersonService/CreatePerson',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.CreatePersonRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.CreatePersonResponse.FromString,
                _registered_method=True)
        self.GetPerson = channel.unary_unary(
                '/interlock.identity.v1.PersonService/GetPerson',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.GetPersonRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.GetPersonResponse.FromString,
                _registered_method=True)
        self.ListPeople = channel.unary_unary(
                '/interlock.identity.v1.PersonService/ListPeople',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.ListPeopleRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.ListPeopleResponse.FromString,
                _registered_method=True)
        self.UpdatePerson = channel.unary_unary(
                '/interlock.identity.v1.PersonService/UpdatePerson',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.UpdatePersonRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.UpdatePersonResponse.FromString,
                _registered_method=True)
        self.DeletePerson = channel.unary_unary(
                '/interlock.identity.v1.PersonService/DeletePerson',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.DeletePersonRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.DeletePersonResponse.FromString,
                _registered_method=True)
        self.InvitePerson = channel.unary_unary(
                '/interlock.identity.v1.PersonService/InvitePerson',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.InvitePersonRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.InvitePersonResponse.FromString,
                _registered_method=True)
        self.AddCredential = channel.unary_unary(
                '/interlock.identity.v1.PersonService/AddCredential',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.AddCredentialRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.AddCredentialResponse.FromString,
                _registered_method=True)
        self.RemoveCredential = channel.unary_unary(
                '/interlock.identity.v1.PersonService/RemoveCredential',
                request_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.RemoveCredentialRequest.SerializeToString,
                response_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.RemoveCredentialResponse.FromString,
                _registered_method=True)


class PersonServiceServicer:
    """PersonService owns people. Operators change them. A person may change their own keys, where
    they have shown presence (S23.12).
    """

    def CreatePerson(self, request, context):
        """CreatePerson adds a person. NAME_TAKEN when there is another of the name, or with one of the
        identities. The person can log in with a key only: add an SSH key, or invite them.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def GetPerson(self, request, context):
        """GetPerson returns a person. NOT_FOUND when there is none.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def ListPeople(self, request, context):
        """ListPeople returns people, by name.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def UpdatePerson(self, request, context):
        """UpdatePerson replaces what is registered of a person. Keys stay.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def DeletePerson(self, request, context):
        """DeletePerson removes a person with all keys. FAILED_PRECONDITION for the last operator.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def InvitePerson(self, request, context):
        """InvitePerson makes a code by which the person registers a key once. It replaces the code
        before. An operator helps somebody so who has lost all keys.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def AddCredential(self, request, context):
        """AddCredential adds a key: one of the caller's own, or an SSH key that an operator vouches for.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')

    def RemoveCredential(self, request, context):
        """RemoveCredential removes a key. FAILED_PRECONDITION for the last one of the last operator.
        """
        context.set_code(grpc.StatusCode.UNIMPLEMENTED)
        context.set_details('Method not implemented!')
        raise NotImplementedError('Method not implemented!')


def add_PersonServiceServicer_to_server(servicer, server):
    rpc_method_handlers = {
            'CreatePerson': grpc.unary_unary_rpc_method_handler(
                    servicer.CreatePerson,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.CreatePersonRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.CreatePersonResponse.SerializeToString,
            ),
            'GetPerson': grpc.unary_unary_rpc_method_handler(
                    servicer.GetPerson,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.GetPersonRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.GetPersonResponse.SerializeToString,
            ),
            'ListPeople': grpc.unary_unary_rpc_method_handler(
                    servicer.ListPeople,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.ListPeopleRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.ListPeopleResponse.SerializeToString,
            ),
            'UpdatePerson': grpc.unary_unary_rpc_method_handler(
                    servicer.UpdatePerson,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.UpdatePersonRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.UpdatePersonResponse.SerializeToString,
            ),
            'DeletePerson': grpc.unary_unary_rpc_method_handler(
                    servicer.DeletePerson,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.DeletePersonRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.DeletePersonResponse.SerializeToString,
            ),
            'InvitePerson': grpc.unary_unary_rpc_method_handler(
                    servicer.InvitePerson,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.InvitePersonRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.InvitePersonResponse.SerializeToString,
            ),
            'AddCredential': grpc.unary_unary_rpc_method_handler(
                    servicer.AddCredential,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.AddCredentialRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.AddCredentialResponse.SerializeToString,
            ),
            'RemoveCredential': grpc.unary_unary_rpc_method_handler(
                    servicer.RemoveCredential,
                    request_deserializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.RemoveCredentialRequest.FromString,
                    response_serializer=interlock_dot_identity_dot_v1_dot_person__service__pb2.RemoveCredentialResponse.SerializeToString,
            ),
    }
    generic_handler = grpc.method_handlers_generic_handler(
            'interlock.identity.v1.PersonService', rpc_method_handlers)
    server.add_generic_rpc_handlers((generic_handler,))
    server.add_registered_method_handlers('interlock.identity.v1.PersonService', rpc_method_handlers)


 # This class is part of an EXPERIMENTAL API.
class PersonService:
    """PersonService owns people. Operators change them. A person may change their own keys, where
    they have shown presence (S23.12).
    """

    @staticmethod
    def CreatePerson(request,
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
            '/interlock.identity.v1.PersonService/CreatePerson',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.CreatePersonRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.CreatePersonResponse.FromString,
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
    def GetPerson(request,
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
            '/interlock.identity.v1.PersonService/GetPerson',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.GetPersonRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.GetPersonResponse.FromString,
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
    def ListPeople(request,
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
            '/interlock.identity.v1.PersonService/ListPeople',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.ListPeopleRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.ListPeopleResponse.FromString,
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
    def UpdatePerson(request,
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
            '/interlock.identity.v1.PersonService/UpdatePerson',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.UpdatePersonRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.UpdatePersonResponse.FromString,
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
    def DeletePerson(request,
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
            '/interlock.identity.v1.PersonService/DeletePerson',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.DeletePersonRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.DeletePersonResponse.FromString,
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
    def InvitePerson(request,
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
            '/interlock.identity.v1.PersonService/InvitePerson',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.InvitePersonRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.InvitePersonResponse.FromString,
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
    def AddCredential(request,
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
            '/interlock.identity.v1.PersonService/AddCredential',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.AddCredentialRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.AddCredentialResponse.FromString,
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
    def RemoveCredential(request,
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
            '/interlock.identity.v1.PersonService/RemoveCredential',
            interlock_dot_identity_dot_v1_dot_person__service__pb2.RemoveCredentialRequest.SerializeToString,
            interlock_dot_identity_dot_v1_dot_person__service__pb2.RemoveCredentialResponse.FromString,
            options,
            channel_credentials,
            insecure,
            call_credentials,
            compression,
            wait_for_ready,
            timeout,
            metadata,
            _registered_method=True)
