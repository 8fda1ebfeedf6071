// What a cluster port says to whoever comes for a set that it does not serve, and what whoever was turned away makes of it. Alerts of
// TLS before anybody has proved anything: they are hints for people, and nothing is decided by them.

import type { Failure } from "@holdfast/shared/failure";
import { peerOther, peerSealed } from "./failures.ts";

const FATAL_ALERT = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02] as const;

/** The certificate cannot be had: it lies behind the seal. */
export const SEALED_HERE = Uint8Array.from([...FATAL_ALERT, 111]);
/** The name is not known. */
export const UNKNOWN_HERE = Uint8Array.from([...FATAL_ALERT, 112]);

const ENDED =
  "the peer ended the handshake: it is sealed, or another server has its address, or it does not know us";
const UNKNOWN =
  "a server answers there that does not lead this set: it follows another cluster by now, has left the set, or is another server";
const NO_TLS = "something answers there that does not speak TLS as a cluster does";
const UNTRUSTED =
  "another server answers there: its certificate is of an authority that is not trusted here";

const OTHER_TIME =
  "its certificate is not valid at this time: look at the clocks of both, and whether that server was renewed";
const TIMES: readonly string[] = ["CERT_HAS_EXPIRED", "CERT_NOT_YET_VALID"];

/** By what the system and OpenSSL call it; null: the connection was closed. */
export function refusedHandshake(cause: Error | null): Failure {
  if (cause === null) return peerOther(ENDED);
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
  if (code === "ERR_SSL_TLSV1_CERTIFICATE_UNOBTAINABLE") return peerSealed({ cause });
  if (code === "ERR_SSL_TLSV1_UNRECOGNIZED_NAME") return peerOther(UNKNOWN, { cause });
  if (code.startsWith("ERR_SSL_") || code === "EPROTO") return peerOther(NO_TLS, { cause });
  if (TIMES.includes(code)) return peerOther(OTHER_TIME, { cause });
  const isOfOther = /CERT|SIGNATURE|^SELF_SIGNED|^UNABLE_TO_/.test(code);
  return peerOther(isOfOther ? UNTRUSTED : ENDED, { cause });
}
