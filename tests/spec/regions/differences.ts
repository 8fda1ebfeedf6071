// What tests of the API see of a performance secondary that they do not see of a primary, and why. The server of such a test has another one
// for its primary, linked in memory: requests are sent on and entries are applied, but there is no stream between them.

export interface Difference {
  readonly file: string;
  readonly test: string;
  readonly why: string;
}

const WHY = {
  INDEXES:
    "records have the indexes of the primary that wrote them, and answers that of this cluster's own log",
  KEYS: "data keys are the primary's, and come by the stream that these two do not have",
  FOLLOWS: "it says that this region follows another one",
  BOOTSTRAP:
    "the first token is made by the primary, which looks for the file and names it in its log",
  LOOPBACK: "a request that came by another cluster is never one from this machine",
  ROTATES: "credentials are rotated by the primary, and who tries it tells of what fails",
  DISABLING:
    "the primary ends leases of its own; that it waits for those of a secondary takes messages of the stream",
  SEEDED: "the test has an engine write shared rows when it opens, which a secondary refuses",
  ROLE_LEASES:
    "the request runs at the primary, which counts and ends leases of its own: those of this cluster stay",
  ISSUER:
    "tokens of identity name the primary as their issuer, and the provider of the test trusts this server",
  PRIMARY_WORK:
    "the request runs at the primary: what it has begun outside, and its log, are there",
} as const;

/** Tests of one file, for one reason. */
function of(file: string, why: keyof typeof WHY, ...tests: readonly string[]): Difference[] {
  return tests.map((test) => ({ file: `tests/${file}`, test, why: WHY[why] }));
}

export const DIFFERENCES: readonly Difference[] = [
  ...of(
    "clients/bao-ceremonies.test.ts",
    "KEYS",
    "operator rotate: a new data key, then the state of the key",
  ),
  ...of(
    "spec/acl/acl-options.test.ts",
    "FOLLOWS",
    "GET /acl/replication: short for all, whole for management",
  ),
  ...of(
    "spec/acl/acl-options.test.ts",
    "BOOTSTRAP",
    "the directory of the reset file is there from the start, and the log names the file",
  ),
  ...of("spec/acl/acl-policies.test.ts", "INDEXES", "replayed: apply, info, list, self and delete"),
  ...of(
    "spec/acl/acl-tokens-bootstrap.test.ts",
    "INDEXES",
    "A-1 bootstrap without a body makes the management token, global and without an end",
    "A-5 after an init that made the root token, the index is that token's CreateIndex",
  ),
  ...of("spec/acl/acl-tokens-decisions.test.ts", "LOOPBACK", "the configuration narrows the door"),
  ...of(
    "spec/attention/attention-rotations.test.ts",
    "ROTATES",
    "PV55: a rotation of the secret of cloud B that fails is told until it is done",
  ),
  ...of(
    "spec/clouda/clouda-mounts.test.ts",
    "DISABLING",
    "M13: unmounting ends every lease at the provider and leaves nothing stored",
    "M14: unmounting while the provider is away fails, stays tainted, and is repeated",
    "M15: unmounting right after a crash takes away what was half made",
  ),
  ...of(
    "spec/clouda/clouda-roles.test.ts",
    "SEEDED",
    "C12: what an earlier version stored and nobody can read is shown, unused and replaced",
  ),
  ...of(
    "spec/clouda/clouda-roles.test.ts",
    "ROLE_LEASES",
    "C39: deleting a role tells of its leases, which live on",
    "C39: with revoke_leases its users go as well",
  ),
  ...of(
    "spec/clouda/clouda-sessions.test.ts",
    "SEEDED",
    "C33: a federated user without any policy would have ours, and is refused",
  ),
  ...of(
    "spec/cloudb/cloudb-config.test.ts",
    "ROLE_LEASES",
    "B6: deleting a configuration that leases still need says so",
  ),
  ...of(
    "spec/cloudb/cloudb-creds.test.ts",
    "ROLE_LEASES",
    "B36: a lease whose role is gone cannot be renewed, and lives on",
    "the leases of a role can be revoked with it",
    "a lease asked for by another spelling of its role is one of its leases",
  ),
  ...of(
    "spec/cloudb/cloudb-identity.test.ts",
    "ISSUER",
    "B39: a mount shows who it is by an assertion, and needs no secret",
    "B39: an assertion has the claims that the provider wants, and expires when it was told to",
    "B39: the signing key changes in time, and mounts go on working",
  ),
  ...of(
    "spec/cloudb/cloudb-leavings.test.ts",
    "PRIMARY_WORK",
    "T-I14: a membership that may have been added is looked for later, and one that a later write has made stays",
    "a mount that goes waits for a request as long as one may take, and nothing stays behind",
    "T-I13: an old secret that an operator has put back is not removed by what was left of its rotation",
    "with abandon a secret that cannot be removed stays, and is told of",
  ),
  ...of(
    "spec/cloudb/cloudb-persist.test.ts",
    "ROLE_LEASES",
    "B34: one application for the life of the role, whose passwords are given",
    "B35: a role with leases keeps its application; without any, that is deleted",
  ),
  ...of(
    "spec/cloudb/cloudb-revoke.test.ts",
    "DISABLING",
    "a mount that is disabled takes all that it has made with it",
    "a mount whose assignments cannot be removed is not disabled: nothing would tell of them any more",
  ),
  ...of(
    "spec/cloudb/cloudb-revoke.test.ts",
    "ROLE_LEASES",
    "a lease of a mount that has lost its configuration stays, and is revoked once there is one",
  ),
];
