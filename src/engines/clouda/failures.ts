// Every way this engine refuses by itself; what the provider refuses is told by ../cloud/provider-error.ts.

import { Failure } from "../../base/failure.ts";

export function invalid(code: string, message: string): Failure {
  return new Failure("invalid", code, message);
}

/** A name that no route has. */
export function unsupportedPath(): Failure {
  return new Failure("not-found", "unsupported-path", "unsupported path");
}

export function notFound(): Failure {
  return new Failure("not-found", "not-found", "nothing is stored here", { texts: [] });
}

export function noCredentials(why: string): Failure {
  const sources =
    "access_key and secret_key of config/root, CLOUDA_ACCESS_KEY and CLOUDA_SECRET_KEY, " +
    "shared credentials files, or the role of this machine";
  return invalid(
    "no-root-credentials",
    `no credentials for the provider: accepted are ${sources}${why}`,
  );
}

export function noKeysToRotate(): Failure {
  const message = "rotate-root needs access_key and secret_key in config/root";
  return invalid("no-root-keys", message);
}

export function twoKeys(): Failure {
  const message =
    "the IAM user already has two access keys; delete the one this service does not use";
  return invalid("two-access-keys", message);
}

export function noRole(name: string): Failure {
  return invalid("role-unknown", `role ${JSON.stringify(name)} not found`);
}

export function roleInvalid(name: string): Failure {
  const message =
    `role ${JSON.stringify(name)} holds invalid data from an earlier version; ` + "write it again";
  return invalid("role-invalid", message);
}

export function wrongPath(type: string, path: string): Failure {
  return invalid("legacy-path", `legacy role: ${type} is not available on ${path}`);
}

export function roleArnMissing(count: number): Failure {
  return invalid("role-arn-missing", `role_arn is required: the role allows ${count} ARNs`);
}

export function roleArnForeign(arn: string, name: string): Failure {
  // Shortened, and without what could steer a terminal: it is the caller's own text.
  const shown = JSON.stringify(arn.slice(0, 256));
  return invalid("role-arn-foreign", `role_arn ${shown} is not allowed by role ${name}`);
}

export function temporaryRoot(): Failure {
  const message =
    "federation_token needs the keys of an IAM user: the provider gives no federation token to " +
    "temporary credentials, which is what this service calls with";
  return invalid("root-temporary", message);
}

export function noSessionPolicy(): Failure {
  const message =
    "federation_token needs policy_arns, policy_document or groups with policies: without any the " +
    "token would have all the power of this service";
  return invalid("no-session-policy", message);
}
