// Endpoints of evidence as functions.
// Written by scripts/gen.ts out of the declarations: do not edit. Inputs and answers have the names of
// the wire.

import type { JsonObject } from "@holdfast/shared/json/json";
import type { Answer, Caller, CallOptions } from "../client.ts";
import { needInput, oneSegment, restOfPath } from "../request-path.ts";

export type ListEvidenceInput = {
  /** Only those after this number or id. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListEvidenceAnswer = {
  readonly keys: readonly string[];
  readonly key_info?: JsonObject;
};

/** List the signed reports of this namespace */
export async function listEvidence(
  client: Caller,
  query: ListEvidenceInput = {},
  options?: CallOptions,
): Promise<Answer<ListEvidenceAnswer>> {
  return client.call({ method: "LIST", path: "sys/evidence", query, answer: "data" }, options);
}

export type ReadEvidenceKeysAnswer = {
  /** Of the key that signs now */
  readonly fingerprint: string;
  /** The oldest first */
  readonly keys: readonly {
    /** SHA-256 over the public key in DER, in hex */
    readonly fingerprint: string;
    /** Ed25519 public key in PEM */
    readonly public_key: string;
    /** When it was made */
    readonly made_at: string;
    /** The server was restarted between a restore and its unsealing, and vouches for it no more */
    readonly unproven: boolean;
    /** DSSE envelope: what `holdfast evidence verify` reads */
    readonly statement: {
      /** The report, in base64 */
      readonly payload: string;
      /** What it is */
      readonly payloadType: string;
      /** Signatures */
      readonly signatures: readonly {
        /** Fingerprint of the key */
        readonly keyid: string;
        /** Ed25519 signature over type and payload, in base64 */
        readonly sig: string;
      }[];
    };
  }[];
};

/** Read the public keys that evidence is checked with */
export async function readEvidenceKeys(
  client: Caller,
  options?: CallOptions,
): Promise<Answer<ReadEvidenceKeysAnswer>> {
  return client.call({ method: "GET", path: "sys/evidence/keys", answer: "data" }, options);
}

export type ReadEvidenceInput = {
  /** Its id or number */
  readonly id: string;
};

export type ReadEvidenceAnswer = {
  /** Its id */
  readonly id: string;
  /** Its number: they follow one another without a gap */
  readonly number: number;
  /** What it is about */
  readonly kind: string;
  /** When it was made */
  readonly made_at: string;
  /** SHA-256 of the payload, in hex: what the next one names */
  readonly digest: string;
  /** What the payload says */
  readonly report: JsonObject;
  /** DSSE envelope: what `holdfast evidence verify` reads */
  readonly envelope: {
    /** The report, in base64 */
    readonly payload: string;
    /** What it is */
    readonly payloadType: string;
    /** Signatures */
    readonly signatures: readonly {
      /** Fingerprint of the key */
      readonly keyid: string;
      /** Ed25519 signature over type and payload, in base64 */
      readonly sig: string;
    }[];
  };
};

/** Read a signed report */
export async function readEvidence(
  client: Caller,
  input: ReadEvidenceInput,
  options?: CallOptions,
): Promise<Answer<ReadEvidenceAnswer>> {
  const { id } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/evidence/${oneSegment(id)}`, answer: "data" },
    options,
  );
}

export type ListReceiptsInput = {
  /** Only those after this id. */
  readonly after?: string | undefined;
  /** How many at most. */
  readonly limit?: number | undefined;
};

export type ListReceiptsAnswer = ListEvidenceAnswer;

/** List the leases that have ended */
export async function listReceipts(
  client: Caller,
  query: ListReceiptsInput = {},
  options?: CallOptions,
): Promise<Answer<ListReceiptsAnswer>> {
  return client.call(
    { method: "LIST", path: "sys/evidence/receipts", query, answer: "data" },
    options,
  );
}

export type ReadReceiptInput = {
  /** Id of the lease */
  readonly id: string;
};

export type ReadReceiptAnswer = {
  /** Id of the lease */
  readonly lease_id: string;
  /** Of the request that it was issued to */
  readonly path: string;
  /** What kind of secret it was */
  readonly secret_type: string;
  /** That it was made for; empty where the engine has none */
  readonly role: string;
  /** What the provider calls what was made */
  readonly objects: readonly string[];
  /** Of the token that it was issued to; empty for none */
  readonly accessor: string;
  /** Who was behind that token; null where nobody has noted it */
  readonly origin: {
    /** Namespace that it was proved or written in */
    readonly namespace_id: string;
    /** Uuid of the auth mount; empty without a login */
    readonly mount: string;
    /** Who was proved to be there; may be empty without a login */
    readonly name: string;
    /** Without a login: of the token that it all began with */
    readonly accessor: string;
  } | null;
  /** When it was issued */
  readonly issued: string;
  /** When it ended */
  readonly ended: string;
  /** Why it ended */
  readonly why: "expiry" | "revoke" | "token" | "unmount";
  /** ended: the engine says that it is gone outside; expires: nobody can end it before good_until; given-up: it may still be there */
  readonly result: "ended" | "expires" | "given-up";
  /** Until when what was handed out is good all the same; null where that is over */
  readonly good_until: string | null;
  /** By which the provider knows the calls that ended it, the last of them */
  readonly request_ids: readonly string[];
  /** How often ending it was tried */
  readonly tries: number;
  /** Why the last try that failed did; empty where none has */
  readonly error: string;
};

/** Read how a lease ended */
export async function readReceipt(
  client: Caller,
  input: ReadReceiptInput,
  options?: CallOptions,
): Promise<Answer<ReadReceiptAnswer>> {
  const { id } = needInput(input);
  return client.call(
    { method: "GET", path: `sys/evidence/receipts/${restOfPath(id)}`, answer: "data" },
    options,
  );
}
