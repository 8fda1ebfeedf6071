// What this engine asks of its provider (IAM and STS), in our words: one method for each call, made for
// one request and bound to its signal. Lists are whole, however many pages they came in. Every method
// throws ProviderError, whose `step` is the provider's name of the action ("iam:CreateUser"), and
// nothing else. clients.ts has the one implementation.

import type { Instant } from "@holdfast/shared/world";

export interface CloudAProvider {
  /** Without a name: the user that owns the key we call with. */
  getUser(name?: string): Promise<CloudUser>;
  createUser(user: NewUser): Promise<CloudUser>;
  deleteUser(name: string): Promise<void>;
  tagUser(name: string, tags: Readonly<Record<string, string>>): Promise<void>;

  attachUserPolicy(name: string, arn: string): Promise<void>;
  detachUserPolicy(name: string, arn: string): Promise<void>;
  /** ARNs. */
  attachedUserPolicies(name: string): Promise<string[]>;
  putUserPolicy(name: string, policyName: string, document: string): Promise<void>;
  deleteUserPolicy(name: string, policyName: string): Promise<void>;
  /** Names of inline policies. */
  userPolicies(name: string): Promise<string[]>;

  addUserToGroup(name: string, group: string): Promise<void>;
  removeUserFromGroup(name: string, group: string): Promise<void>;
  groupsOfUser(name: string): Promise<string[]>;
  /** ARNs. */
  attachedGroupPolicies(group: string): Promise<string[]>;
  /** Names of inline policies. */
  groupPolicies(group: string): Promise<string[]>;
  /** The document as JSON text: no longer percent-encoded. */
  groupPolicy(group: string, policyName: string): Promise<string>;

  createAccessKey(name: string): Promise<NewAccessKey>;
  deleteAccessKey(name: string, id: string): Promise<void>;
  /** In the provider's order. */
  accessKeys(name: string): Promise<AccessKeyFacts[]>;

  // What a holder may have added to its user.
  deleteLoginProfile(name: string): Promise<void>;
  /** Serial numbers. */
  mfaDevices(name: string): Promise<string[]>;
  deactivateMfaDevice(name: string, serial: string): Promise<void>;
  deleteVirtualMfaDevice(serial: string): Promise<void>;
  signingCertificates(name: string): Promise<string[]>;
  deleteSigningCertificate(name: string, id: string): Promise<void>;
  sshPublicKeys(name: string): Promise<string[]>;
  deleteSshPublicKey(name: string, id: string): Promise<void>;
  serviceSpecificCredentials(name: string): Promise<string[]>;
  deleteServiceSpecificCredential(name: string, id: string): Promise<void>;

  callerIdentity(): Promise<CallerIdentity>;
  assumeRole(session: AssumedSession): Promise<SessionCredentials>;
  federationToken(session: FederatedSession): Promise<SessionCredentials>;

  /** The account that we call as. Asked for once, and for nothing where another answer has told it. */
  account(): Promise<string>;
  /** The same as far as it is known; null: it is not. */
  knownAccount(): string | null;
  /** Of the key that we call with. */
  readonly accessKeyId: string;
  /** Whether we call with credentials that end by themselves: such ones get no federation token. */
  readonly temporary: boolean;
}

export interface CloudUser {
  readonly name: string;
  /** Never reused, unlike the name. */
  readonly id: string;
  readonly path: string;
  readonly arn: string;
  /** To the second. */
  readonly created: Instant;
}

export interface NewUser {
  readonly name: string;
  readonly path: string;
  readonly permissionsBoundary?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface AccessKeyFacts {
  readonly id: string;
  /** To the second: two may be alike. */
  readonly created: Instant;
}

export interface NewAccessKey extends AccessKeyFacts {
  readonly secret: string;
}

export interface CallerIdentity {
  readonly account: string;
  readonly arn: string;
}

/** What a session of STS may do at most. */
export interface SessionLimits {
  /** JSON text. */
  readonly policy?: string;
  readonly policyArns?: readonly string[];
  /** At least 1. */
  readonly seconds: number;
}

export interface AssumedSession extends SessionLimits {
  readonly roleArn: string;
  readonly sessionName: string;
  readonly externalId?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

export interface FederatedSession extends SessionLimits {
  readonly name: string;
}

export interface SessionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expires: Instant;
  /** Of the assumed role or federated user. */
  readonly arn: string;
}
