// Endpoints of audit as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment, restOfPath } from "../request-path.ts";

export type ListAuditDevicesAnswer = Readonly<
  Record<
    string,
    {
      /** file, socket or syslog */
      readonly type: string;
      /** What it is for */
      readonly description: string;
      /** As given when it was enabled */
      readonly options: Readonly<Record<string, string>>;
      /** Not replicated to performance secondaries */
      readonly local: boolean;
      /** Its name, with a slash at the end */
      readonly path: string;
      /** Comes from the configuration file and can be changed only there */
      readonly declared: boolean;
      /** Took its last record on this node */
      readonly healthy: boolean;
    }
  >
>;

/** List the audit devices */
export async function listAuditDevices(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListAuditDevicesAnswer>> {
  return client.call({ method: "GET", path: "sys/audit", answer: "data" }, options);
}

export type EnableAuditDeviceInput = {
  /** Name of the device */
  readonly path: string;
  /** file, socket or syslog */
  readonly type: string;
  /** What it is for */
  readonly description?: string | undefined;
  /** Options of the type, by name */
  readonly options?: JsonObject | undefined;
  /** Keep it on this cluster: performance secondaries do not get it */
  readonly local?: boolean | undefined;
  /** Enable it even if it does not take a record now */
  readonly skip_test?: boolean | undefined;
};

/** Enable an audit device */
export async function enableAuditDevice(
  client: Caller,
  input: EnableAuditDeviceInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/audit/${restOfPath(path)}`, body, answer: "nothing" },
    options,
  );
}

export type DisableAuditDeviceInput = {
  /** Name of the device */
  readonly path: string;
};

/** Disable an audit device */
export async function disableAuditDevice(
  client: Caller,
  input: DisableAuditDeviceInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { path } = needInput(input);
  return client.call(
    { method: "DELETE", path: `sys/audit/${restOfPath(path)}`, answer: "nothing" },
    options,
  );
}

export type HashForAuditInput = {
  /** Name of the device */
  readonly path: string;
  /** The value */
  readonly input: string;
};

export type HashForAuditAnswer = {
  /** hmac-sha256: and the digest in hex */
  readonly hash: string;
};

/** Hash a value as an audit device does */
export async function hashForAudit(
  client: Caller,
  input: HashForAuditInput,
  options?: CallOptions,
): Promise<Answer<HashForAuditAnswer>> {
  const { path, ...body } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/audit-hash/${restOfPath(path)}`, body, answer: "data" },
    options,
  );
}

export type VerifyAuditTrailInput = DisableAuditDeviceInput;

export type VerifyAuditTrailAnswer = {
  /** Every record is there, in order and unchanged */
  readonly valid: boolean;
  /** Good records, up to the problem */
  readonly records: number;
  /** Number of the first record */
  readonly first: number | null;
  /** Number of the last good record */
  readonly last: number | null;
  /** Lines of another key or device, before these records or between them: only checkpoints vouch for them */
  readonly unchecked: number;
  /** Lines broken off by writes that failed; nothing is missing there */
  readonly torn: number;
  /** What was read, the oldest first */
  readonly files: readonly string[];
  readonly problem: {
    /** Path */
    readonly file: string;
    /** Line, from 1 */
    readonly line: number;
    /** What is wrong there */
    readonly reason: string;
  } | null;
};

/** Check the files of an audit device for records that were cut, swapped or edited */
export async function verifyAuditTrail(
  client: Caller,
  input: VerifyAuditTrailInput,
  options?: CallOptions,
): Promise<Answer<VerifyAuditTrailAnswer>> {
  const { path } = needInput(input);
  return client.call(
    { method: "POST", path: `sys/audit-verify/${restOfPath(path)}`, answer: "data" },
    options,
  );
}

export type ListAuditedHeadersAnswer = {
  /** Headers by name */
  readonly headers: Readonly<
    Record<
      string,
      {
        /** Recorded as a hash */
        readonly hmac: boolean;
      }
    >
  >;
};

/** List the request headers that are recorded */
export async function listAuditedHeaders(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ListAuditedHeadersAnswer>> {
  return client.call(
    { method: "GET", path: "sys/config/auditing/request-headers", answer: "data" },
    options,
  );
}

export type ReadAuditedHeaderInput = {
  /** Name of the header */
  readonly name: string;
};

export type ReadAuditedHeaderAnswer = Readonly<
  Record<
    string,
    {
      /** Recorded as a hash */
      readonly hmac: boolean;
    }
  >
>;

/** Tell how a request header is recorded */
export async function readAuditedHeader(
  client: Caller,
  input: ReadAuditedHeaderInput,
  options?: CallOptions,
): Promise<Answer<ReadAuditedHeaderAnswer>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "GET",
      path: `sys/config/auditing/request-headers/${oneSegment(name)}`,
      answer: "data",
    },
    options,
  );
}

export type RecordHeaderInput = {
  /** Name of the header */
  readonly name: string;
  /** As a hash; false shows its value */
  readonly hmac?: boolean | undefined;
};

/** Record a request header */
export async function recordHeader(
  client: Caller,
  input: RecordHeaderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name, ...body } = needInput(input);
  return client.call(
    {
      method: "POST",
      path: `sys/config/auditing/request-headers/${oneSegment(name)}`,
      body,
      answer: "nothing",
    },
    options,
  );
}

export type StopRecordingHeaderInput = ReadAuditedHeaderInput;

/** Stop recording a request header */
export async function stopRecordingHeader(
  client: Caller,
  input: StopRecordingHeaderInput,
  options?: CallOptions,
): Promise<Answer<undefined>> {
  const { name } = needInput(input);
  return client.call(
    {
      method: "DELETE",
      path: `sys/config/auditing/request-headers/${oneSegment(name)}`,
      answer: "nothing",
    },
    options,
  );
}
