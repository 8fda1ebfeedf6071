// What tests of the API see of a performance secondary that they do not see of a primary, and why. The server of such a test has another one
// for its primary, linked in memory: requests are sent on and entries are applied, but there is no stream between them.

export interface Difference {
  readonly file: string;
  readonly test: string;
  readonly why: string;
}

const WHY = {
  KEYS: "data keys are the primary's, and come by the stream that these two do not have",
  REKEY: "shares and root key are the primary's: a rekey is refused, and nobody is told to do one",
  RESTORE: "nothing is restored on a secondary",
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
  RING: "the ring of identity keys is made by the primary when it first needs one, and a secondary says so until then",
  AUDIT:
    "a device that is shared is opened by both clusters, and those of a test share one directory: its file has the records of both",
  PLACES:
    "the two servers of a test have data directories of their own and the same devices: what is wrong in the one directory is right here, and what cannot be opened stops the primary first",
  GLOBAL_ENDS: "tokens of all regions are ended by the primary, and the answer says so",
  BOTH: "two servers do it, and the test counts both",
  BEGUN:
    "a server is a secondary from its initialisation on, and this test exchanges the server or its data by another way",
  BEHIND: "the test writes a shared record behind the API, which a secondary refuses",
  LOCAL_MANAGEMENT:
    "management tokens of one region are never vouched for: what all share needs a global one",
  DECLARED:
    "what the configuration declares is written by the primary, by its own configuration: the test reloads that of this server",
  JUDGED:
    "what is sent on is judged once more by the primary, by what is there by then: who may only create is refused before it is told what is there",
  RACED:
    "where another device takes the name between the judging and the removal, the store of a secondary refuses; the tests' witness of writes tells of it as a fault",
  RESET:
    "the number that opens the bootstrap again is the primary's, where the file lies, and a token is shown with the indexes of this cluster",
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
    "BOOTSTRAP",
    "the directory of the reset file is there from the start, and the log names the file",
  ),
  ...of(
    "clients/bao-ceremonies.test.ts",
    "REKEY",
    "operator rotate-keys: status, start, shares, new shares verified, cancel",
    "operator rotate-keys -target=recovery: refused where there are no recovery shares, with the reason",
    "the newer names are guarded as the older ones are",
  ),
  ...of(
    "spec/attention/attention-seen.test.ts",
    "REKEY",
    "putting off: not what has to be acted on, not for long, and it fails no pipeline until then",
  ),
  ...of(
    "spec/seal.test.ts",
    "REKEY",
    "T-F02 where ceremonies need a token, nobody else can hold the slot",
    "rekey with verification: nothing changes until the new shares were entered",
  ),
  ...of(
    "spec/acl/acl-options.test.ts",
    "FOLLOWS",
    "GET /acl/replication: short for all, whole for management",
  ),
  ...of(
    "spec/acl/acl-tokens-bootstrap.test.ts",
    "RESET",
    "A-5 the second bootstrap is refused with the reset index, the first one's CreateIndex",
    "A-5 after an init that made the root token, the index is that token's CreateIndex",
    "A-7 of parallel first bootstraps exactly one wins, the others get the usual text",
    "A-8 with the reset file there is one more bootstrap, and the old token still works",
    "A-9 the same number does not reset twice",
    "A-9 a file that is no number counts as none",
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
    "ROLE_LEASES",
    "C39: deleting a role tells of its leases, which live on",
    "C39: with revoke_leases its users go as well",
  ),
  ...of(
    "spec/clouda/clouda-roles.test.ts",
    "SEEDED",
    "C12: what an earlier version stored and nobody can read is shown, unused and replaced",
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
  ...of(
    "spec/access.test.ts",
    "KEYS",
    "T-A15 T-D07: every route, caller and namespace, by header and by path prefix",
    "T-A01 T-A02: no other spelling of a path reaches its route, whoever asks",
    "only lists end in a slash, and other case is another path",
  ),
  ...of(
    "spec/audit.test.ts",
    "PLACES",
    "a node with devices of which none can be opened stays sealed, keeps right shares, and goes on with them",
    "no audit file lies in a directory of the server's own, whoever asks for it",
    "a declared audit file that a link puts among the server's own files is not opened",
  ),
  ...of(
    "spec/evidence/carried-audit.test.ts",
    "AUDIT",
    "an audit device that is removed and made again with the same file: neither of the two chains is called changed, and changes of both show",
  ),
  ...of(
    "spec/evidence/checkpoints.test.ts",
    "AUDIT",
    "PV52: a file with its checkpoints is good wherever it is moved; what is edited, cut out or put in is found",
    "PV52: a file that was moved away and opened anew ends with a checkpoint; the chain holds for the server too",
    "PV52: after a stop the next process goes on; what was edited meanwhile is told by the server itself",
    "a report is found in the audit files at the place that it names",
  ),
  ...of(
    "spec/leases/leases-end.test.ts",
    "GLOBAL_ENDS",
    "what names nothing is told as such, by every way of revoking, and is no refusal",
  ),
  ...of(
    "spec/logins/logins-close.test.ts",
    "DISABLING",
    "tokens are refused from the moment at which their mount is closed, whatever it waits for",
    "an auth mount that moves takes nobody along, and one that cannot move lets them in again",
  ),
  ...of(
    "spec/logins/logins-close.test.ts",
    "GLOBAL_ENDS",
    "tokens that are good in every cluster end by the path of their mount as well",
  ),
  ...of(
    "spec/mounts/engine-services.test.ts",
    "RING",
    "B39: an engine's token is good by the listed keys, and its subject has namespace and accessor",
    "the key behind the barrier survives a restart; a sealed server shows nothing of it",
  ),
  ...of(
    "spec/mounts/mounts-disable.test.ts",
    "DISABLING",
    "a mount that is being disabled answers nothing but revocation: 404",
    "a lease that cannot be revoked stops it; the mount stays tainted with its cause, and a repeat goes on",
    "a provider that is gone for good does not keep a mount: revoke-force, then disable",
    "one that takes longer than a minute goes on in the background and says how far it is",
    "it goes on after a crash, wherever that was",
    "sealing in the middle stops it in order, and unsealing takes it up again",
  ),
  ...of(
    "spec/mounts/mounts-races.test.ts",
    "DISABLING",
    "what a running request makes while its mount is disabled is not left outside",
    "what a running request makes while its mount moves is not left outside",
  ),
  ...of(
    "spec/snapshots/loaded-recover.test.ts",
    "AUDIT",
    "the records of a recovery name the snapshot and have what was written, masked",
  ),
  ...of(
    "spec/snapshots/manual.test.ts",
    "KEYS",
    "deep: the server proves with its own keys that an archive restores, and says where it cannot",
  ),
  ...of(
    "spec/snapshots/restore-init.test.ts",
    "BEGUN",
    "a body that is held back until an operator has initialised the server replaces nothing, and is ended by that",
  ),
  ...of(
    "spec/snapshots/drills.test.ts",
    "REKEY",
    "after a rekey older snapshots need the shares of their day: a drill says so",
  ),
  ...of(
    "spec/snapshots/drills.test.ts",
    "RESTORE",
    "what was proven stays with the cluster when an older snapshot is restored",
  ),
  ...of(
    "spec/snapshots/restore-clouds.test.ts",
    "RESTORE",
    "users that were made since the snapshot are removed, and those that it knows stay",
    "a lease that had ended and is brought back where the provider refuses everything: six tries, told in attention, and gone when it can be",
  ),
  ...of(
    "spec/snapshots/restore-leases.test.ts",
    "RESTORE",
    "a lease that had ended and waits for its end again is not good after a second restore either",
    "receipts of what a restore ends: by who restores, unless its end had come already",
  ),
  ...of(
    "spec/snapshots/restore.test.ts",
    "RESTORE",
    "what was there when it was taken is there again, and the server goes on above both",
    "case 124, T-L03: wrong keys, cut, flipped, without sums, with more in it: 400 each, and nothing has changed",
    "leases and write-ahead records newer than the snapshot are taken over and end; what has no mount is counted",
    "who may: sudo and update, in the root namespace",
  ),
  ...of(
    "spec/snapshots/restore.test.ts",
    "REKEY",
    "after a rekey an older snapshot is refused with the date and the way, and by force opens with the shares of its day",
  ),
  ...of(
    "spec/snapshots/restore.test.ts",
    "BEGUN",
    "case 125: by force from another cluster: its data after an unseal with its shares, and the epoch above both",
    "with a seal that opens by itself, one that was not initialised is open after its restore",
  ),
  ...of(
    "spec/snapshots/restore.test.ts",
    "KEYS",
    "data keys that were rotated since the snapshot stay, and so do shares",
  ),
  ...of(
    "threats/b/b-held.test.ts",
    "LOCAL_MANAGEMENT",
    "T-B05: who is revoked while its body is held back does nothing with it",
  ),
  ...of(
    "threats/b/b-requests.test.ts",
    "RESET",
    "T-B19: bootstrap has one winner, however many ask, and one more after a reset",
  ),
  ...of(
    "threats/b/b-waiting.test.ts",
    "PRIMARY_WORK",
    "who waits for its turn when the node seals is refused, and not waited for",
  ),
  ...of(
    "threats/c/c-documents.test.ts",
    "AUDIT",
    "T-C17: a policy that is deleted is empty, and counts again only from its next writing on",
  ),
  ...of(
    "threats/c/c-governing.test.ts",
    "LOCAL_MANAGEMENT",
    "T-C01: an EGP of a namespace binds nothing outside it",
  ),
  ...of(
    "spec/canary.test.ts",
    "REKEY",
    "T-F06: no share, token or one-time password is found where it must not be",
  ),
  ...of(
    "threats/f.test.ts",
    "REKEY",
    "T-F01: what a token may see of an attempt does not let it end the attempt",
    "T-F01: one share that fits nothing does not hold the place of a ceremony for good",
    "T-F01: a verification that nobody goes on with ends its rekey",
    "T-F02: where a ceremony needs a token, starting one needs the right to write there",
    "T-F02: a proxy on the server's machine does not open ceremonies to whoever it serves",
    "T-F02: an attempt that nobody feeds gives its place back after ten minutes",
  ),
  ...of(
    "threats/l/archives.test.ts",
    "RESTORE",
    "T-L01, case 124: an archive with other members than the four, or fewer, is refused by whatever reads it",
    "T-L01: an archive whose members lead elsewhere is refused by name, and nothing is written",
    "T-L02: a bomb is refused at its first block, whatever it would become",
    "T-L02: an archive cut into tiny blocks is refused where the cuts begin",
  ),
  ...of(
    "spec/canary.test.ts",
    "KEYS",
    "T-G01 T-O01 T-O03: no marker of any field is found where it must not be",
  ),
  ...of(
    "spec/cloud-secrets.test.ts",
    "PRIMARY_WORK",
    "X1: no secret of cloud A is in logs, audit, metrics or refusals",
    "X1, T-I06: no secret of cloud B is in logs, audit, metrics or refusals",
  ),
  ...of(
    "spec/cloud-secrets.test.ts",
    "ISSUER",
    "X1: what shows a mount's identity to cloud B is nowhere either",
  ),
  ...of("spec/seal.test.ts", "BEGUN", "two inits at the same time: one 200, one 400"),
  ...of(
    "spec/seal.test.ts",
    "KEYS",
    "rotate installs a new term; what was written before stays readable",
    "rotate/config: within its bounds, partial changes keep the rest",
  ),
  ...of(
    "spec/clouda/clouda-roles.test.ts",
    "ROLE_LEASES",
    "leases of a role in other regions count, and a region that is not reached keeps it, unless that is forced",
  ),
  ...of(
    "spec/cloudb/cloudb-persist.test.ts",
    "ROLE_LEASES",
    "leases in other regions keep the application of a role, and so does a region that is not reached, unless that is forced",
  ),
  ...of(
    "spec/governing/policies-governing-changes.test.ts",
    "BEHIND",
    "a stored program that does not compile any more denies at both mandatory levels, and is logged",
  ),
  ...of(
    "spec/leases/leases-life.test.ts",
    "ROLE_LEASES",
    "each refusal of a renewal in its own words, and through every door",
  ),
  ...of(
    "spec/plugins/declared.test.ts",
    "DECLARED",
    "what blocks say is registered at unseal and on reload, and callers do not change it",
  ),
  ...of("spec/plugins/runtimes.test.ts", "BEHIND", "147: a runtime stays while a plugin needs it"),
  ...of(
    "spec/snapshots/auto-runs.test.ts",
    "RESTORE",
    "a restore brings configurations back; what is known of attempts stays, and those that are due are made",
  ),
  ...of(
    "spec/snapshots/auto-trouble.test.ts",
    "RESTORE",
    "one that came with a restore and has no credentials fails as every other: noted, counted, tried ever more rarely",
  ),
  ...of(
    "spec/snapshots/manual.test.ts",
    "REKEY",
    "case 124: an archive from before a rekey, and one of another cluster, are told apart",
  ),
  ...of(
    "spec/snapshots/restore.test.ts",
    "RESTORE",
    "one at a time; what fails while it is filled in leaves the data as it is and says why",
    "a disk without room refuses before anything is written, and while it fills up: the data stays as it is",
  ),
  ...of(
    "threats/a/a.test.ts",
    "BEHIND",
    "T-A20: a policy that was changed or deleted counts for the very next request",
  ),
  ...of(
    "threats/b/b-comparisons.test.ts",
    "REKEY",
    "T-B21: nonces and passwords are compared in a time that tells nothing, right or wrong",
  ),
  ...of(
    "threats/b/b-streams.test.ts",
    "RESTORE",
    "T-B05: restoreSnapshot: who is revoked or loses its policy while the body comes does nothing with it",
    "T-B05: forceRestoreSnapshot: who is revoked or loses its policy while the body comes does nothing with it",
    "T-N03: restoreSnapshot: a body that drips is ended with 408, and its place is free",
    "T-N03: forceRestoreSnapshot: a body that drips is ended with 408, and its place is free",
  ),
  ...of(
    "threats/d-leases.test.ts",
    "PRIMARY_WORK",
    "T-D03: a namespace that is deleted revokes what it had issued, also after a crash at any step",
  ),
  ...of(
    "threats/g.test.ts",
    "AUDIT",
    "T-G07: whatever is named, a record is one line, and neither trail nor log carries a control",
    "T-G09: a record that was cut out, swapped or edited is found, at its line",
  ),
  ...of(
    "threats/j-storm.test.ts",
    "PRIMARY_WORK",
    "T-J05: what a token and a namespace had issued is revoked, though the server dies right after",
  ),
  ...of(
    "threats/j.test.ts",
    "PLACES",
    "T-J07: what cannot be revoked is listed, counted and tried again, and only force forgets it, on record",
  ),
  ...of(
    "threats/m.test.ts",
    "KEYS",
    "T-M02: every answer of the API is JSON without parameters, or the text its declaration names",
  ),
  ...of(
    "threats/n/created-meanwhile.test.ts",
    "JUDGED",
    "T-N13: enableMount: is judged by what is there when it is done",
    "T-N13: enableAuthMethod: is judged by what is there when it is done",
  ),
  ...of(
    "threats/n/n-memory.test.ts",
    "REKEY",
    "T-N01: without a token a body has 64 KiB at most, over either protocol, and the refusal says so",
  ),
  ...of(
    "threats/n/n.test.ts",
    "RACED",
    "T-N13: calls on one object at once leave it as one of their orders would",
  ),
];
