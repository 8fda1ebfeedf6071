// The policies that every server has, and the names that nobody may take.

/** Everything; management tokens hold it, client tokens never do. It has no text and no record. */
export const ROOT = "root";

/** Joins every client token when its rights are worked out. */
export const DEFAULT = "default";

/** Written when a namespace is made and never again, so that an operator's edit survives upgrades. */
export const DEFAULT_TEXT = `# What every client token may do. It can be edited, but not deleted.

# The token itself
path "auth/token/lookup-self" { capabilities = ["read"] }
path "acl/token/self"         { capabilities = ["read"] }
path "auth/token/renew-self"  { capabilities = ["update"] }
path "auth/token/revoke-self" { capabilities = ["update"] }

# What it may do
path "sys/capabilities-self"         { capabilities = ["update"] }
path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }

# Leases, by their id
path "sys/renew"         { capabilities = ["update"] }
path "sys/leases/renew"  { capabilities = ["update"] }
path "sys/leases/lookup" { capabilities = ["update"] }

# Wrapped answers
path "sys/wrapping/wrap"   { capabilities = ["update"] }
path "sys/wrapping/lookup" { capabilities = ["update"] }
path "sys/wrapping/unwrap" { capabilities = ["update"] }

# Its own private space
path "cubbyhole/*" { capabilities = ["create", "read", "update", "delete", "list"] }
`;

/** Held by wrapping tokens. Its text is the server's own, whatever was stored. */
export const RESPONSE_WRAPPING = "response-wrapping";

export const RESPONSE_WRAPPING_TEXT = `path "cubbyhole/response"   { capabilities = ["create", "read"] }
path "sys/wrapping/unwrap"  { capabilities = ["update"] }
`;

const NOT_WRITABLE: ReadonlySet<string> = new Set([ROOT, RESPONSE_WRAPPING, "control-group"]);

export function isWritable(name: string): boolean {
  return !NOT_WRITABLE.has(name);
}

/** Whether every namespace has it, written there or not. */
export function isAlwaysThere(name: string): boolean {
  return name === ROOT || name === DEFAULT || name === RESPONSE_WRAPPING;
}

export function isDeletable(name: string): boolean {
  return isWritable(name) && name !== DEFAULT;
}
