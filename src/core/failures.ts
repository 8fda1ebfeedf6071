// Every way the pipeline refuses. Texts that clients match on are kept (core contract 1.5).

import { Failure } from "../base/failure.ts";

export function uninitialised(): Failure {
  return new Failure("uninitialised", "not-initialised", "service is not initialized");
}

/** A ceremony before initialisation: the caller is early, the server is not out of order. */
export function tooEarly(): Failure {
  return new Failure("invalid", "not-initialised", "service is not initialized");
}

export function sealed(): Failure {
  return new Failure("sealed", "sealed", "service is sealed", { retryAfter: 5 });
}

export function drSecondary(): Failure {
  const message = "this cluster is a disaster-recovery secondary";
  return new Failure("unavailable", "dr-secondary", message);
}

export function missingToken(): Failure {
  return new Failure("denied", "missing-token", "missing client token");
}

/** Unknown, deleted and expired tokens alike. */
export function invalidToken(): Failure {
  const texts = ["permission denied", "invalid token"];
  return new Failure("denied", "invalid-token", "permission denied: invalid token", { texts });
}

export function denied(): Failure {
  return new Failure("denied", "permission-denied", "permission denied");
}

/** By RGPs and EGPs, in the text of policies-and-plugins 5.5. Records and the log name it in short. */
export function governed(text: string): Failure {
  const message = "permission denied by a governing policy";
  return new Failure("denied", "policy-denied", message, { texts: [text] });
}

export function restricted(): Failure {
  return new Failure("denied", "restricted-endpoint", "restricted endpoint");
}

export function ceremoniesOff(): Failure {
  const message = "key ceremonies are switched off on this listener (key_ceremonies)";
  return new Failure("denied", "ceremonies-off", message);
}

export function metricsOnly(): Failure {
  return new Failure("not-found", "metrics-only", "this listener answers sys/metrics only");
}

export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

export function unsupportedOperation(): Failure {
  return new Failure("unsupported", "unsupported-operation", "unsupported operation");
}

export function trailingSlash(): Failure {
  const message = "only lists end in a slash; leave it out, or use LIST or ?list=true";
  return new Failure("invalid", "trailing-slash", message);
}

/** Its answer is no JSON, or is made while nothing can be kept, or may be written down nowhere. */
export function notWrapped(): Failure {
  const message = "answers of this path cannot be wrapped; leave X-Service-Wrap-TTL out";
  return new Failure("invalid", "not-wrapped", message);
}

export function namespaceMalformed(): Failure {
  const message = "the namespace header must be names joined by single slashes";
  return new Failure("invalid", "namespace-malformed", message);
}

export function givenTwice(): Failure {
  const message = "a field is given in the body and in the query; give it once";
  return new Failure("invalid", "field-given-twice", message);
}

export function notASwitch(name: string): Failure {
  const message = `${name} must be true or false, or stand in the query without a value`;
  return new Failure("invalid", "field-invalid", message);
}

/** Our own fault. The cause is in the log, under the request's id. */
export function internal(id: string, cause: unknown): Failure {
  return new Failure("internal", "internal-error", `internal error; request ${id}`, { cause });
}

export function bodyMissing(text: string): Failure {
  return new Failure("invalid", "body-missing", text);
}

export function bodyUnreadable(text: string, cause: Failure): Failure {
  return new Failure(cause.kind, cause.code, `${text}: ${cause.message}`, { cause });
}

export function folderNamed(text: string): Failure {
  return new Failure("invalid", "trailing-slash", text);
}
