import assert from "node:assert/strict";
import test from "node:test";
import { type Caller, type Origin, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import { EMPTY } from "@holdfast/shared/bytes";
import { forward, type SentCaller } from "./messages.ts";
import { attestedBy, sentCaller } from "./sent-caller.ts";

const CALLER: Caller = {
  accessor: "11111111-2222-4333-8444-555555555555",
  type: "client",
  name: "somebody",
  policies: ["p", "q"],
  namespace: { ...ROOT_NAMESPACE, id: "n1", path: "team" },
  global: false,
  created: 3n,
  expires: 9n,
  withoutDefault: true,
};

const ORIGIN: Origin = {
  namespaceId: "n1",
  mount: "m1",
  login: "userpass",
  name: "me",
  metadata: { username: "me", __proto: "x" },
  owner: { team: "red" },
  first: "66666666-2222-4333-8444-555555555555",
};

const TERMS = { period: 60n, longest: 90n, path: "auth/userpass/login/me", usesLeft: 3 };

/** As the other cluster reads it. */
function overTheWire(attested: SentCaller): SentCaller {
  const around = { id: "", verb: "", target: "", namespace: "", credential: "", contentType: "" };
  const request = {
    ...around,
    attested,
    body: EMPTY,
    headers: [],
    address: "",
    port: 0,
    wrapTtl: 0n,
    isWrappedAsJwt: false,
    wrapsItself: true,
    policyOverride: false,
    clusterId: "",
  };
  const read = forward.request.decode(forward.request.encode(request));
  return read.attested ?? assert.fail();
}

function there(caller: Caller) {
  return attestedBy(overTheWire(sentCaller(caller)));
}

test("a caller is there what it is here, with all that its login has proved and how long it lives", () => {
  const { type: _, global: __, namespace, ...rest } = CALLER;
  const { id, path } = namespace;
  const whole = { ...rest, namespace: { id, path }, origin: ORIGIN, terms: TERMS };
  assert.deepEqual(there({ ...CALLER, origin: ORIGIN, terms: TERMS }), whole);
});

test("what a caller does not have it has not there either", () => {
  const bare = there({ ...CALLER, expires: null, withoutDefault: false });
  assert.deepEqual(
    [bare.expires, bare.withoutDefault, bare.origin, bare.terms],
    [null, false, undefined, undefined],
  );
  const { withoutDefault: _, ...silent } = CALLER;
  assert.equal(there(silent).withoutDefault, false);
  const { owner: __, first: ___, ...few } = { ...ORIGIN, mount: null };
  const { origin } = there({ ...CALLER, origin: few });
  assert.deepEqual([origin?.mount, origin?.owner, origin?.first], [null, undefined, undefined]);
  const nobodys = there({ ...CALLER, origin: { ...ORIGIN, owner: {} } });
  assert.deepEqual(nobodys.origin?.owner, {}, "nothing of it is not the same as none");
  const terms = { period: null, longest: null, path: "", usesLeft: null };
  assert.deepEqual(there({ ...CALLER, terms }).terms, terms);
});
