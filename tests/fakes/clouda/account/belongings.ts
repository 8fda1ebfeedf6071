// Actions on what the holder of a user may have added to it: login profile, MFA devices, signing
// certificates, SSH keys, credentials of single services. All of it keeps the user from being deleted.

import { ACCOUNT, newId, type User } from "./account.ts";
import { type Action, type Actions, type Call, namedUser, page, userOrCaller } from "../action.ts";
import { checkName } from "./rules.ts";
import { alreadyExists, ApiError, dateText, limitExceeded, noSuchEntity } from "../wire.ts";

function missing(what: string, id: string): ApiError {
  return noSuchEntity(`The ${what} with id ${id} cannot be found.`);
}

/** Deletes what a field of the request names. */
function deletion(field: string, what: string, of: (user: User) => Map<string, unknown>): Action {
  return (call) => {
    const user = userOrCaller(call);
    const id = call.params.required(field);
    if (!of(user).delete(id)) throw missing(what, id);
    return null;
  };
}

function room(held: Map<string, unknown>, max: number, quota: string): void {
  if (held.size >= max) throw limitExceeded(`Cannot exceed quota for ${quota}: ${max}`);
}

function loginProfile(call: Call): { readonly user: User; readonly createdAt: number } {
  const user = namedUser(call);
  const profile = user.extras.loginProfile;
  if (profile === null) {
    throw noSuchEntity(`Login Profile for User ${user.name} cannot be found.`);
  }
  return { user, createdAt: profile.createdAt };
}

export const belongingActions: Actions = {
  CreateLoginProfile(call) {
    const user = namedUser(call);
    call.params.required("Password");
    if (user.extras.loginProfile !== null) {
      throw alreadyExists(`Login Profile for user ${user.name} already exists.`);
    }
    const createdAt = call.account.now();
    user.extras.loginProfile = { createdAt };
    return { LoginProfile: { UserName: user.name, CreateDate: dateText(createdAt) } };
  },

  GetLoginProfile(call) {
    const { user, createdAt } = loginProfile(call);
    return { LoginProfile: { UserName: user.name, CreateDate: dateText(createdAt) } };
  },

  DeleteLoginProfile(call) {
    loginProfile(call).user.extras.loginProfile = null;
    return null;
  },

  CreateVirtualMFADevice({ account, params }) {
    const name = checkName("virtualMFADeviceName", params.required("VirtualMFADeviceName"), 226);
    const serial = `arn:aws:iam::${ACCOUNT}:mfa/${name}`;
    if (account.virtualMfa.has(serial)) {
      throw alreadyExists("MFADevice entity at the same path and name already exists.");
    }
    account.virtualMfa.add(serial);
    return { VirtualMFADevice: { SerialNumber: serial } };
  },

  EnableMFADevice(call) {
    const { account, params } = call;
    const user = namedUser(call);
    const serial = params.required("SerialNumber");
    params.required("AuthenticationCode1");
    params.required("AuthenticationCode2");
    if (serial.startsWith("arn:") && !account.virtualMfa.has(serial)) {
      throw missing("VirtualMFADevice", serial);
    }
    room(user.extras.mfaDevices, 8, "MFADevicesPerUser");
    user.extras.mfaDevices.set(serial, account.now());
    return null;
  },

  ListMFADevices(call) {
    const user = userOrCaller(call);
    const rows = [...user.extras.mfaDevices].map(([serial, at]) => ({
      UserName: user.name,
      SerialNumber: serial,
      EnableDate: dateText(at),
    }));
    return page(call, "MFADevices", rows);
  },

  DeactivateMFADevice: deletion("SerialNumber", "MFA Device", ({ extras }) => extras.mfaDevices),

  DeleteVirtualMFADevice({ account, params }) {
    const serial = params.required("SerialNumber");
    if ([...account.users.values()].some(({ extras }) => extras.mfaDevices.has(serial))) {
      const said = "Cannot delete entity, must deactivate the device first.";
      throw new ApiError(409, "DeleteConflict", said);
    }
    if (!account.virtualMfa.delete(serial)) throw missing("VirtualMFADevice", serial);
    return null;
  },

  UploadSigningCertificate(call) {
    const user = userOrCaller(call);
    const body = call.params.required("CertificateBody");
    room(user.extras.certificates, 2, "SigningCertificatesPerUser");
    const id = newId("");
    const at = call.account.now();
    user.extras.certificates.set(id, { body, at });
    return { Certificate: certificateRow(user, id, body, at) };
  },

  ListSigningCertificates(call) {
    const user = userOrCaller(call);
    const rows = [...user.extras.certificates].map(([id, { body, at }]) =>
      certificateRow(user, id, body, at),
    );
    return page(call, "Certificates", rows);
  },

  DeleteSigningCertificate: deletion(
    "CertificateId",
    "Certificate",
    ({ extras }) => extras.certificates,
  ),

  UploadSSHPublicKey(call) {
    const user = namedUser(call);
    call.params.required("SSHPublicKeyBody");
    room(user.extras.sshKeys, 5, "SSHPublicKeysPerUser");
    const id = newId("APKA");
    const at = call.account.now();
    user.extras.sshKeys.set(id, { at });
    return { SSHPublicKey: sshRow(user, id, at) };
  },

  ListSSHPublicKeys(call) {
    const user = userOrCaller(call);
    const rows = [...user.extras.sshKeys].map(([id, { at }]) => sshRow(user, id, at));
    return page(call, "SSHPublicKeys", rows);
  },

  DeleteSSHPublicKey: deletion("SSHPublicKeyId", "Public Key", ({ extras }) => extras.sshKeys),

  CreateServiceSpecificCredential(call) {
    const user = namedUser(call);
    const service = call.params.required("ServiceName");
    room(user.extras.serviceCredentials, 2, "ServiceSpecificCredentialsPerUser");
    const id = newId("ACCA");
    const made = { service, name: `${user.name}-at-${ACCOUNT}`, at: call.account.now() };
    user.extras.serviceCredentials.set(id, made);
    const { secret } = call.account.newKey("AKIA");
    const row = serviceRow(user, id, made);
    return { ServiceSpecificCredential: { ...row, ServicePassword: secret } };
  },

  // Not paged at the provider.
  ListServiceSpecificCredentials(call) {
    const user = userOrCaller(call);
    const rows = [...user.extras.serviceCredentials].map(([id, made]) =>
      serviceRow(user, id, made),
    );
    return { ServiceSpecificCredentials: rows };
  },

  DeleteServiceSpecificCredential: deletion(
    "ServiceSpecificCredentialId",
    "service specific credential",
    ({ extras }) => extras.serviceCredentials,
  ),
};

function certificateRow(user: User, id: string, body: string, at: number) {
  return {
    UserName: user.name,
    CertificateId: id,
    CertificateBody: body,
    Status: "Active",
    UploadDate: dateText(at),
  };
}

function sshRow(user: User, id: string, at: number) {
  return {
    UserName: user.name,
    SSHPublicKeyId: id,
    Status: "Active",
    UploadDate: dateText(at),
  };
}

function serviceRow(
  user: User,
  id: string,
  made: { readonly service: string; readonly name: string; readonly at: number },
) {
  return {
    UserName: user.name,
    ServiceSpecificCredentialId: id,
    ServiceName: made.service,
    ServiceUserName: made.name,
    Status: "Active",
    CreateDate: dateText(made.at),
  };
}
