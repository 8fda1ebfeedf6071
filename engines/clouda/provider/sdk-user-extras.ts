// What a holder may have added to its user, by the provider's own client: one method, one call.

import type { CloudAProvider } from "./provider.ts";
import { texts } from "./sdk-answers.ts";
import { type IamCalls, paged } from "./sdk-calls.ts";

export function userExtraCalls(
  calls: IamCalls,
): Pick<
  CloudAProvider,
  | "deleteLoginProfile"
  | "mfaDevices"
  | "deactivateMfaDevice"
  | "deleteVirtualMfaDevice"
  | "signingCertificates"
  | "deleteSigningCertificate"
  | "sshPublicKeys"
  | "deleteSshPublicKey"
  | "serviceSpecificCredentials"
  | "deleteServiceSpecificCredential"
> {
  const { sdk } = calls;
  return {
    async deleteLoginProfile(name: string): Promise<void> {
      const { DeleteLoginProfileCommand } = sdk;
      await calls.ask("DeleteLoginProfile", (client, options) =>
        client.send(new DeleteLoginProfileCommand({ UserName: name }), options),
      );
    },

    async mfaDevices(name: string): Promise<string[]> {
      const { ListMFADevicesCommand } = sdk;
      return calls.all("ListMFADevices", async (client, options, page) => {
        const answer = await client.send(
          new ListMFADevicesCommand({ UserName: name, ...page }),
          options,
        );
        return paged(answer, texts(answer.MFADevices, "SerialNumber"));
      });
    },

    async deactivateMfaDevice(name: string, serial: string): Promise<void> {
      const { DeactivateMFADeviceCommand } = sdk;
      const input = { UserName: name, SerialNumber: serial };
      await calls.ask("DeactivateMFADevice", (client, options) =>
        client.send(new DeactivateMFADeviceCommand(input), options),
      );
    },

    async deleteVirtualMfaDevice(serial: string): Promise<void> {
      const { DeleteVirtualMFADeviceCommand } = sdk;
      await calls.ask("DeleteVirtualMFADevice", (client, options) =>
        client.send(new DeleteVirtualMFADeviceCommand({ SerialNumber: serial }), options),
      );
    },

    async signingCertificates(name: string): Promise<string[]> {
      const { ListSigningCertificatesCommand } = sdk;
      return calls.all("ListSigningCertificates", async (client, options, page) => {
        const command = new ListSigningCertificatesCommand({ UserName: name, ...page });
        const answer = await client.send(command, options);
        return paged(answer, texts(answer.Certificates, "CertificateId"));
      });
    },

    async deleteSigningCertificate(name: string, id: string): Promise<void> {
      const { DeleteSigningCertificateCommand } = sdk;
      const input = { UserName: name, CertificateId: id };
      await calls.ask("DeleteSigningCertificate", (client, options) =>
        client.send(new DeleteSigningCertificateCommand(input), options),
      );
    },

    async sshPublicKeys(name: string): Promise<string[]> {
      const { ListSSHPublicKeysCommand } = sdk;
      return calls.all("ListSSHPublicKeys", async (client, options, page) => {
        const answer = await client.send(
          new ListSSHPublicKeysCommand({ UserName: name, ...page }),
          options,
        );
        return paged(answer, texts(answer.SSHPublicKeys, "SSHPublicKeyId"));
      });
    },

    async deleteSshPublicKey(name: string, id: string): Promise<void> {
      const { DeleteSSHPublicKeyCommand } = sdk;
      await calls.ask("DeleteSSHPublicKey", (client, options) =>
        client.send(new DeleteSSHPublicKeyCommand({ UserName: name, SSHPublicKeyId: id }), options),
      );
    },

    async serviceSpecificCredentials(name: string): Promise<string[]> {
      const { ListServiceSpecificCredentialsCommand } = sdk;
      const command = new ListServiceSpecificCredentialsCommand({ UserName: name });
      const answer = await calls.ask("ListServiceSpecificCredentials", (client, options) =>
        client.send(command, options),
      );
      return texts(answer.ServiceSpecificCredentials, "ServiceSpecificCredentialId");
    },

    async deleteServiceSpecificCredential(name: string, id: string): Promise<void> {
      const { DeleteServiceSpecificCredentialCommand } = sdk;
      const input = { UserName: name, ServiceSpecificCredentialId: id };
      await calls.ask("DeleteServiceSpecificCredential", (client, options) =>
        client.send(new DeleteServiceSpecificCredentialCommand(input), options),
      );
    },
  };
}
