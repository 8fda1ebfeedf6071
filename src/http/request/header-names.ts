// The headers that mean something to us, by lower-case name: which may come once, which are one and the same
// in another family of names, which are refused. The only place with those names.

/** The families of names for one and the same header. */
export const OWN = 1;
export const VAULT = 2;
export const NOMAD = 4;
type Family = typeof OWN | typeof VAULT | typeof NOMAD;

const FAMILIES: readonly (readonly [Family, string])[] = [
  [OWN, "x-service-"],
  [VAULT, "x-vault-"],
  [NOMAD, "x-nomad-"],
];

/** Headers that may come once. Those after the gap exist in every family of names. */
const ONCE = [
  "host",
  "content-length",
  "transfer-encoding",
  "content-type",
  "content-encoding",
  "authorization",
  "origin",
  "expect",
  "access-control-request-method",
] as const;
const IN_FAMILIES = [
  "token",
  "namespace",
  "wrap-ttl",
  "wrap-format",
  "policy-override",
  "request",
  "state",
  "index",
  "inconsistent",
  "forward",
  "no-request-forwarding",
  "recover-snapshot-id",
] as const;
type Slot = (typeof ONCE)[number] | (typeof IN_FAMILIES)[number];

// Ways to smuggle another operation past a check of the verb (T-A18), and names that objects have
// by themselves (T-N09). Nobody needs them.
const REFUSED = [
  "x-http-method-override",
  "x-http-method",
  "x-method-override",
  "__proto__",
  "constructor",
  "prototype",
] as const;
// A proxy has spoken: the peer's address is not the caller's.
const BETWEEN = [
  "forwarded",
  "via",
  "client-ip",
  "cf-connecting-ip",
  "fastly-client-ip",
  "forwarded-for",
  "true-client-ip",
  "x-azure-clientip",
  "x-azure-socketip",
  "x-client-ip",
  "x-cluster-client-ip",
  "x-envoy-external-address",
  "x-forwarded",
  "x-forwarded-by",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-port",
  "x-forwarded-prefix",
  "x-forwarded-proto",
  "x-forwarded-scheme",
  "x-forwarded-server",
  "x-forwarded-ssl",
  "x-original-forwarded-for",
  "x-original-host",
  "x-original-url",
  "x-proxyuser-ip",
  "x-real-ip",
] as const;

interface Known {
  readonly kind: "once" | "refused" | "between";
  readonly slot: number;
  readonly family: Family;
}

const SLOTS: readonly Slot[] = [...ONCE, ...IN_FAMILIES];
export const KNOWN: ReadonlyMap<string, Known> = new Map([
  ...ONCE.map((name): [string, Known] => [
    name,
    { kind: "once", slot: SLOTS.indexOf(name), family: OWN },
  ]),
  ...FAMILIES.flatMap(([family, prefix]) =>
    IN_FAMILIES.map((name): [string, Known] => [
      prefix + name,
      { kind: "once", slot: slotOf(family, name), family },
    ]),
  ),
  ...REFUSED.map((name): [string, Known] => [name, { kind: "refused", slot: 0, family: OWN }]),
  ...BETWEEN.map((name): [string, Known] => [name, { kind: "between", slot: 0, family: OWN }]),
]);

/** The index header of the family that has Wrap-TTL is the opaque state. */
function slotOf(family: Family, name: (typeof IN_FAMILIES)[number]): number {
  return SLOTS.indexOf(family === VAULT && name === "index" ? "state" : name);
}

const place = (name: Slot) => SLOTS.indexOf(name);
export const AT = {
  host: place("host"),
  contentLength: place("content-length"),
  transferEncoding: place("transfer-encoding"),
  contentType: place("content-type"),
  contentEncoding: place("content-encoding"),
  authorization: place("authorization"),
  origin: place("origin"),
  expect: place("expect"),
  requestMethod: place("access-control-request-method"),
  token: place("token"),
  namespace: place("namespace"),
  wrapTtl: place("wrap-ttl"),
  wrapForm: place("wrap-format"),
  policyOverride: place("policy-override"),
  request: place("request"),
  recoverFrom: place("recover-snapshot-id"),
  state: place("state"),
  inconsistent: place("inconsistent"),
  forward: place("forward"),
};
