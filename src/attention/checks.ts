// What needs attention: a row for each code. To add one: a row here, a fact below if none tells it yet, and what
// the fact is in src/server/attention-facts.ts. Facts are counters and settings in memory: a check never searches.
// Texts and remedies name nothing: who may not see the subject is told the rest.

import { counted } from "@holdfast/shared/text/counted";
import { DAY } from "@holdfast/shared/text/duration";
import { type NamespaceRef, ROOT_NAMESPACE } from "@holdfast/shared/endpoint/request";
import type { Instant, Nanos } from "@holdfast/shared/world";

export const SEVERITIES = ["act", "soon", "note"] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A mount, or something in it, and how many there are. */
export interface MountFact {
  readonly namespace: NamespaceRef;
  /** Of a mount with a slash at the end. */
  readonly path: string;
  readonly count: number;
}

export interface AuditFact {
  readonly path: string;
  readonly healthy: boolean;
  /** Its records are not hashed. */
  readonly raw: boolean;
  /** What was wrong with its file when the server went on with it; null for nothing. */
  readonly broken: string | null;
  /** Another cluster has made it for all, and it was never open here: records go without it. */
  readonly elsewhere: boolean;
}

/** Null: it cannot be told here, and the checks that need it are passed over. */
export interface Facts {
  readonly audit: () => readonly AuditFact[];
  /** Whether another cluster writes whatever is configured here, so that what should be is told and mended there. */
  readonly isConfiguredElsewhere: () => boolean;
  /** How many shares open the server, or make a root token where it opens by itself. Null where they are those of another
   *  cluster, which alone makes others. */
  readonly sharesNeeded: () => number | null;
  readonly bootstrapOpen: () => boolean;
  readonly stuckLeases: () => readonly MountFact[];
  readonly orphans: () => readonly MountFact[];
  /** Of plugins that are missing or do not start. */
  /** Tried again: by itself, and not by whoever mends it. */
  readonly unloadedMounts: () => readonly (MountFact & { readonly isTriedAgain: boolean })[];
  /** Of credentials that engines rotate by themselves. The path is the one that shows how it stands. */
  readonly failedRotations: () => readonly MountFact[];
  readonly overdueRotations: () => readonly MountFact[];
  /** Names that are locked, by the mount that they log in at. */
  readonly lockedOrigins: () => readonly MountFact[];
  /** Management tokens that never end. */
  readonly unendingTokens: () => readonly {
    readonly namespace: NamespaceRef;
    readonly accessor: string;
  }[];
  readonly disk: () => { readonly free: number; readonly reserve: number } | null;
  /** When the certificates of the listeners end. */
  readonly certificates: () => readonly { readonly listener: string; readonly ends: Instant }[];
  readonly dataKeyInstalled: () => Instant;
  /** Whether operators have put another policy in the place of the console's. */
  readonly consolePolicySet: () => boolean;
  readonly dev: () => boolean;
  /** Automated ones: how many are configured, and which of them are late. */
  readonly snapshots: () => {
    readonly configured: number;
    readonly late: readonly { readonly name: string; readonly phase: string | null }[];
    /** Those whose last attempt failed: how many in a row, and what the last one met. */
    readonly failing: readonly {
      readonly name: string;
      readonly errors: number;
      readonly error: string;
    }[];
  };
  /** Of this cluster among others, by kind of replication. */
  readonly replication: () => readonly {
    readonly kind: "dr" | "performance";
    /** Another cluster leads its set. */
    readonly fenced: boolean;
    /** What is shared is here in part. */
    readonly torn: boolean;
    /** Who leads the set besides, as far as is known here: by the secondary that says so; the name of this one itself is empty. */
    readonly rivals: readonly { readonly name: string; readonly text: string }[];
    /** Secondaries as which two clusters come, and where from. */
    readonly doubled: readonly { readonly name: string; readonly from: readonly string[] }[];
    /** Entries that only this cluster had, and gave up. */
    readonly divergent: number;
    /** Of what such a cluster had made outside: not handed over yet, and brought here where nobody can end it. */
    readonly orphans: { readonly waiting: number; readonly left: number };
    /** Who is not where it should be, and how; for a secondary itself, its name is empty. */
    readonly behind: readonly { readonly name: string; readonly text: string }[];
    /** Who has no cluster port, and could not do what it is there for; the name of this one itself is empty. */
    readonly portless: readonly { readonly name: string; readonly text: string }[];
    /** Who was in the set before this cluster led it, and does not follow it. */
    readonly awaited: readonly { readonly name: string; readonly text: string }[];
    /** Of regions: who stands in for one and could not take its place now; and those for which nobody does, though somebody does for another. */
    readonly standIns: readonly { readonly name: string; readonly text: string }[];
    readonly bare: readonly { readonly name: string; readonly text: string }[];
  }[];
  /** What restores could not take over: leases and write-ahead records, and evidence. */
  readonly leftByRestores: () => {
    readonly count: number;
    /** Whether somebody vouches for that number. */
    readonly isKnown: boolean;
    readonly evidence: "whole" | "lost" | "unproven";
  };
  /** Of those configurations: whose stored snapshots were not proven in time, and whose last one does not restore. */
  readonly drills: () => {
    readonly late: readonly string[];
    readonly failed: readonly { readonly name: string; readonly report: string | null }[];
  };
}

/** What a check has found; `subject` is empty where it is about the server. */
export interface Found {
  readonly subject: string;
  readonly namespace: NamespaceRef;
  /** Who can reach this path in the namespace may know the subject. */
  readonly seenBy: string;
  readonly text: string;
  /** What only those are told who may know the subject. */
  readonly detail?: string;
  /** Id of a signed report about it. */
  readonly evidence?: string | null;
}

export interface Check {
  readonly code: string;
  readonly severity: Severity;
  /** A command, or what to do where no command does it. */
  readonly remedy: string;
  /** Null: the check does not apply here. */
  readonly find: (facts: Facts, now: Instant) => readonly Found[] | null;
}

const CERTIFICATE_SOON: Nanos = 30n * DAY;
const KEY_OLD: Nanos = 365n * DAY;
const MAX_DETAIL = 500;

export const CHECKS: readonly Check[] = [
  {
    code: "audit.none",
    severity: "act",
    remedy: "holdfast audit enable file file_path=PATH",
    find: (facts) => {
      const devices = facts.audit();
      if (facts.isConfiguredElsewhere()) return null;
      const which = devices.length === 0 ? "is enabled" : "of the primary opens here";
      const isNone = devices.every(({ elsewhere }) => elsewhere);
      return server(isNone, `no audit device ${which}: requests leave no trail`);
    },
  },
  {
    code: "audit.failing",
    severity: "act",
    remedy: "see the server's log, mend the place that the device writes to, and reload the server",
    find: (facts) =>
      devices(
        facts.audit().filter(({ healthy }) => !healthy),
        () => "an audit device does not take records",
      ),
  },
  {
    code: "audit.broken",
    severity: "act",
    remedy: "holdfast audit verify -keys KEYS FILE, and compare with copies elsewhere",
    find: (facts) =>
      devices(
        facts.audit().filter(({ broken }) => broken !== null),
        ({ broken }) => `the chain of an audit file was broken when the server went on: ${broken}`,
      ),
  },
  {
    code: "seal.share-one",
    severity: "act",
    remedy: "holdfast operator rekey -key-shares 5 -key-threshold 3",
    find: (facts) => {
      const needed = facts.sharesNeeded();
      if (needed === null) return null;
      return server(needed === 1, "one share alone opens the server or makes a root token");
    },
  },
  {
    code: "bootstrap.open",
    severity: "act",
    remedy: "holdfast acl bootstrap",
    find: (facts) =>
      server(facts.bootstrapOpen(), "anybody who reaches the server can make the first token"),
  },
  {
    code: "lease.irrevocable",
    severity: "act",
    remedy: "holdfast lease list -irrevocable",
    find: (facts) =>
      mounts(facts.stuckLeases(), (count) =>
        count === 1
          ? "a lease could not be revoked: its credential may still work"
          : `${count} leases could not be revoked: their credentials may still work`,
      ),
  },
  {
    code: "replication.fenced",
    severity: "act",
    remedy:
      "holdfast replication demote (with -kind performance for that kind); then, with a token of the new primary, holdfast replication update-primary -dr-token FILE @TOKEN (for that kind -kind performance in the place of -dr-token)",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, fenced }) =>
          fenced ? [{ ...amongOthers(kind), text: FENCED[kind] }] : [],
        ),
  },
  {
    code: "replication.torn",
    severity: "act",
    remedy:
      "holdfast replication status -kind performance, until it streams; where its primary does not come back, update-primary with a token of another",
    find: (facts) =>
      facts.replication().flatMap(({ kind, torn }) => {
        const text =
          "what is shared is here in part: a comparison with the primary is half done, and requests for it are refused (503 shared_half)";
        return torn ? [{ ...amongOthers(kind), text }] : [];
      }),
  },
  {
    code: "replication.conflict",
    severity: "act",
    remedy:
      "holdfast replication status, here and there; then holdfast replication demote on one of the two",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, rivals }) =>
          rivals.map(({ name, text }) => ({ ...amongOthers(kind, name), text })),
        ),
  },
  {
    code: "replication.divergent",
    severity: "act",
    remedy:
      "holdfast replication divergent list, then holdfast replication divergent export TAIL for each (on a disaster-recovery secondary with -dr-token FILE); after 30 days it goes by itself",
    find: (facts) =>
      facts.replication().flatMap(({ kind, divergent }) => {
        const text = `${counted(divergent, "entry", "entries")} that only this cluster had ${divergent === 1 ? "was" : "were"} given up for another primary`;
        return divergent > 0 ? [{ ...amongOthers(kind), text }] : [];
      }),
  },
  {
    code: "replication.duplicated",
    severity: "act",
    remedy:
      "holdfast replication status; stop the copy: a second secondary begins empty, with a token of its own",
    find: (facts) =>
      facts.replication().flatMap(({ kind, doubled }) =>
        doubled.map(({ name, from }) => ({
          ...amongOthers(kind, name),
          text: "two clusters come as this secondary: a copy of its disk was started beside it",
          ...(from.length === 0 ? {} : { detail: `they come from ${from.join(" and ")}` }),
        })),
      ),
  },
  {
    code: "replication.orphans",
    severity: "act",
    remedy:
      "holdfast replication status; look at the provider for what begins with cloud_name_prefix",
    find: (facts) =>
      facts.replication().flatMap(({ kind, orphans: { waiting, left } }) => {
        const text =
          left > 0
            ? `${left} leases and write-ahead records of a primary of before could not be taken over: nobody ends what they stand for`
            : `${waiting} leases and write-ahead records that were given up here wait to be taken over by the primary`;
        return waiting + left > 0 ? [{ ...amongOthers(kind), text }] : [];
      }),
  },
  {
    code: "mount.not-loaded",
    severity: "act",
    remedy: "holdfast secrets list; holdfast plugin reload -mounts SUBJECT when it is mended",
    find: (facts) =>
      facts
        .unloadedMounts()
        .flatMap(({ isTriedAgain, ...mount }) =>
          mounts([mount], () =>
            isTriedAgain
              ? "the plugin of the mount does not start and is tried again by itself: until then its requests are refused"
              : "the plugin of the mount is missing or does not start: its requests are refused",
          ),
        ),
  },
  {
    code: "disk.reserve",
    severity: "act",
    remedy: "make room where data is kept",
    find: (facts) => {
      const disk = facts.disk();
      if (disk === null) return null;
      const text = "the disk is down to its reserve: only deletions and revocations are written";
      return server(disk.free < disk.reserve, text);
    },
  },
  {
    code: "rotation.failed",
    severity: "act",
    remedy: "holdfast read SUBJECT, and mend what it says",
    find: (facts) =>
      mounts(
        facts.failedRotations(),
        () => "a credential that is rotated by itself could not be, again and again",
      ),
  },
  {
    code: "orphans",
    severity: "soon",
    remedy: "holdfast list MOUNT/orphans",
    find: (facts) =>
      mounts(facts.orphans(), (count) =>
        count === 1
          ? "something that was made outside could not be removed"
          : `${count} things that were made outside could not be removed`,
      ),
  },
  {
    code: "rotation.overdue",
    severity: "soon",
    remedy: "holdfast read SUBJECT",
    find: (facts) =>
      mounts(
        facts.overdueRotations(),
        () => "a credential should have been rotated more than an hour ago",
      ),
  },
  {
    code: "origin.locked",
    severity: "soon",
    remedy: "see in the audit log who tries; a new password unlocks a user at once",
    find: (facts) =>
      mounts(facts.lockedOrigins(), (count) =>
        count === 1
          ? "a name is locked after too many failed logins"
          : `${count} names are locked after too many failed logins`,
      ),
  },
  {
    code: "token.never-ends",
    severity: "soon",
    remedy: "holdfast token revoke ACCESSOR, when others can do its work",
    find: (facts) =>
      facts.dev()
        ? null
        : facts.unendingTokens().map(({ namespace, accessor }) => ({
            subject: accessor,
            namespace,
            seenBy: "auth/token/accessors",
            text: "a management token never ends: who finds it can do everything, for ever",
          })),
  },
  {
    code: "certificate.ending",
    severity: "soon",
    remedy: "renew the certificate, and reload the server",
    find: (facts, now) =>
      facts
        .certificates()
        .filter(({ ends }) => ends - now < CERTIFICATE_SOON)
        .map(({ listener, ends }) => ({
          subject: listener,
          namespace: ROOT_NAMESPACE,
          seenBy: "sys/config/state/sanitized",
          text:
            ends <= now
              ? "the certificate of a listener has ended"
              : `the certificate of a listener ends in ${(ends - now) / DAY} days`,
        })),
  },
  {
    code: "key.old",
    severity: "soon",
    remedy: "holdfast operator rotate",
    find: (facts, now) =>
      server(
        !facts.isConfiguredElsewhere() && now - facts.dataKeyInstalled() >= KEY_OLD,
        "the key that data is encrypted with is older than a year",
      ),
  },
  {
    code: "snapshot.none",
    severity: "soon",
    remedy: "holdfast write sys/storage/raft/snapshot-auto/config/NAME storage_type=local ...",
    find: (facts) =>
      server(
        facts.snapshots().configured === 0 && !facts.dev() && !facts.isConfiguredElsewhere(),
        "no automated snapshots are configured: what is lost with the disk is lost",
      ),
  },
  {
    code: "snapshot.failing",
    severity: "soon",
    remedy:
      "holdfast snapshot list NAME, mend what it says, then try at once: holdfast write -force sys/storage/raft/snapshot-auto/run/NAME",
    find: (facts) =>
      facts.snapshots().failing.map(({ name, errors, error }) => ({
        ...statusOf(name),
        text:
          errors === 1
            ? "the last attempt at an automated snapshot failed"
            : `the last ${errors} attempts at an automated snapshot failed`,
        detail: error.length <= MAX_DETAIL ? error : `${error.slice(0, MAX_DETAIL - 1)}…`,
      })),
  },
  {
    code: "snapshot.late",
    severity: "soon",
    remedy: "holdfast snapshot list",
    find: (facts) =>
      facts.snapshots().late.map(({ name, phase }) => ({
        ...statusOf(name),
        text: `an automated snapshot has not succeeded for two of its intervals${nowAt(phase)}`,
      })),
  },
  {
    code: "restore.left",
    severity: "soon",
    remedy:
      "look for what begins with cloud_name_prefix at the provider, remove what no lease stands for, and put this off",
    find: (facts) => {
      const { count, isKnown } = facts.leftByRestores();
      const which = isKnown
        ? `has left ${count}`
        : count === 0
          ? "may have left an unknown number of"
          : `has left ${count} or more`;
      return server(
        count > 0 || !isKnown,
        `a restore ${which} leases and write-ahead records: what they stand for may still be there at the provider`,
      );
    },
  },
  {
    code: "evidence.unproven",
    severity: "soon",
    remedy:
      "holdfast evidence keys, note the fingerprint again, look for copies of reports from before, and put this off",
    find: (facts) => {
      const { evidence } = facts.leftByRestores();
      return server(
        evidence !== "whole",
        evidence === "unproven"
          ? "the server was restarted between a restore and its unsealing: nobody vouches for signed reports from before, receipts from before are gone, and audit chains start anew"
          : "evidence from before a restore was changed or removed on the disk: signed reports and receipts from before are gone, and audit chains start anew",
      );
    },
  },
  {
    code: "drill.failed",
    severity: "soon",
    remedy:
      "holdfast snapshot list -drills NAME, then make another one: holdfast write -force sys/storage/raft/snapshot-auto/run/NAME",
    find: (facts) =>
      facts.drills().failed.map(({ name, report }) => ({
        ...drillsOf(name),
        text: "the last drill of a stored snapshot has found that it does not restore",
        evidence: report,
      })),
  },
  {
    code: "replication.lag",
    severity: "soon",
    remedy: "holdfast replication status",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, behind }) =>
          behind.map(({ name, text }) => ({ ...amongOthers(kind, name), text })),
        ),
  },
  {
    code: "replication.awaited",
    severity: "soon",
    remedy: "holdfast replication status: it names what to do there and here",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, awaited }) =>
          awaited.map(({ name, text }) => ({ ...amongOthers(kind, name), text })),
        ),
  },
  {
    code: "replication.no-port",
    severity: "soon",
    remedy:
      "add cluster_address to a tcp listener in the configuration of that cluster, and restart it",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, portless }) =>
          portless.map(({ name, text }) => ({ ...amongOthers(kind, name), text })),
        ),
  },
  {
    code: "replication.stand-in",
    severity: "soon",
    remedy:
      "holdfast replication status -topology; then holdfast replication status in that region",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, standIns }) =>
          standIns.map(({ name, text }) => ({ ...amongOthers(kind, name), text })),
        ),
  },
  {
    code: "drill.late",
    severity: "soon",
    remedy: "holdfast snapshot drill NAME",
    find: (facts) =>
      facts.drills().late.map((name) => ({
        ...drillsOf(name),
        text: "no stored snapshot was proven to restore for twice as long as is planned",
      })),
  },
  {
    code: "audit.single",
    severity: "note",
    remedy: "holdfast audit enable -path second file file_path=PATH, on another disk",
    find: (facts) =>
      server(
        facts.audit().length === 1 && !facts.isConfiguredElsewhere(),
        "there is one audit device: when it fails, all requests do",
      ),
  },
  {
    code: "replication.bare",
    severity: "note",
    remedy:
      "holdfast replication enable in that region, and holdfast replication join on a cluster that is to stand in for it",
    find: (facts) =>
      facts
        .replication()
        .flatMap(({ kind, bare }) =>
          bare.map(({ name, text }) => ({ ...amongOthers(kind, name), text })),
        ),
  },
  {
    code: "csp.weakened",
    severity: "note",
    remedy: "holdfast delete sys/config/ui/headers/Content-Security-Policy",
    find: (facts) =>
      server(facts.consolePolicySet(), "the content policy of the console is not the default one"),
  },
  {
    code: "log-raw",
    severity: "note",
    remedy: "holdfast audit disable SUBJECT, and enable it again without log_raw",
    find: (facts) =>
      devices(
        facts.audit().filter(({ raw }) => raw),
        () => "an audit device records values in clear",
      ),
  },
  {
    code: "dev-mode",
    severity: "note",
    remedy: "holdfast server -config FILE, without -dev",
    find: (facts) =>
      server(facts.dev(), "the server runs in development mode: nothing it holds is safe"),
  },
];

function server(applies: boolean, text: string): Found[] {
  return applies ? [{ subject: "", namespace: ROOT_NAMESPACE, seenBy: "", text }] : [];
}

type Kind = ReturnType<Facts["replication"]>[number]["kind"];

const FENCED: Readonly<Record<Kind, string>> = {
  dr: "another cluster of the set was promoted: this one writes nothing any more",
  performance:
    "another performance primary was promoted: this one writes nothing that is shared any more",
};

/** A secondary by its name, or this cluster itself. A name may be one in both kinds. */
function amongOthers(kind: Kind, name = ""): Omit<Found, "text"> {
  const own = kind === "dr" ? [] : [kind];
  const subject = [...own, name].filter((part) => part !== "").join("/");
  return { subject, namespace: ROOT_NAMESPACE, seenBy: `sys/replication/${kind}/status` };
}

function statusOf(name: string): Omit<Found, "text"> {
  const seenBy = `sys/storage/raft/snapshot-auto/status/${name}`;
  return { subject: name, namespace: ROOT_NAMESPACE, seenBy };
}

function drillsOf(name: string): Omit<Found, "text"> {
  const seenBy = `sys/storage/raft/snapshot-auto/drills/${name}`;
  return { subject: name, namespace: ROOT_NAMESPACE, seenBy };
}

/** Where the attempt stands that is under way. */
function nowAt(phase: string | null): string {
  if (phase === null) return "";
  return phase === "waiting" ? "; one waits for its turn" : `; one is ${phase}`;
}

function devices(found: readonly AuditFact[], text: (one: AuditFact) => string): Found[] {
  return found.map((one) => ({
    subject: `${one.path}/`,
    namespace: ROOT_NAMESPACE,
    seenBy: "sys/audit",
    text: text(one),
  }));
}

function mounts(found: readonly MountFact[], text: (count: number) => string): Found[] {
  return found.map(({ namespace, path, count }) => ({
    subject: path,
    namespace,
    seenBy: path,
    text: text(count),
  }));
}
