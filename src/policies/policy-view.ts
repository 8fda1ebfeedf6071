// Policies as callers see them: the members of reads, of trials and of lists.

import { showTime } from "@holdfast/shared/text/time";
import { out, type Output, type OutputOf } from "@holdfast/shared/endpoint/output";
import { readEgpPaths } from "./governing/egp-paths.ts";
import { ENFORCEMENT_LEVELS, type GoverningRecord } from "./governing/governing-record.ts";
import type { PolicyRecord } from "./policy-record.ts";

const name = out.string("Its name, in lower case.");
const policy = out.string("The document; empty for root.");
const version = {
  version: out.integer("Counts the writes, from 1."),
  modified: out.optional(out.time("When it was written last; absent for what nobody wrote.")),
  cas_required: out.boolean("Whether the next write must give cas."),
  expiration: out.optional(out.time("When it ends by itself.")),
};
const level = out.oneOf(ENFORCEMENT_LEVELS, "What a failure does.");
const paths = out.list(out.string("Path; a * at the end stands for the rest."), "What it guards.");

export const shapes = {
  acl: out.object({ name, policy, ...version }),
  older: out.object({ name, rules: policy, ...version }),
  rgp: out.object({ name, policy, enforcement_level: level, ...version }),
  egp: out.object({ name, policy, enforcement_level: level, paths, ...version }),
};

type OrNothing<O> = Output<OutputOf<O> | undefined>;

/** Of a write: only a trial shows what it made. */
export const trials: { readonly [K in "acl" | "rgp" | "egp"]: OrNothing<(typeof shapes)[K]> } =
  shapes;

const guarded = out.list(
  out.object({
    path: out.string("Without the star."),
    glob: out.boolean("Whether it stands for everything that starts so."),
  }),
  "What it guards.",
);
export const egpList = out.object({
  keys: out.list(out.string("Name of an EGP."), "Names, sorted."),
  name_path_map: out.mapOf(guarded, "Paths by name."),
  key_info: out.mapOf(guarded, "The same."),
});
export const olderList = out.object({
  keys: out.list(out.string("Name of a policy."), "Names, sorted; root last."),
  policies: out.list(out.string("Name of a policy."), "The same."),
});

type View<K extends keyof typeof shapes> = OutputOf<(typeof shapes)[K]>;

export function aclOf(called: string, record: PolicyRecord): View<"acl"> {
  return { name: called, policy: record.text, ...versionOf(record) };
}

export function olderOf(called: string, record: PolicyRecord): View<"older"> {
  return { name: called, rules: record.text, ...versionOf(record) };
}

export function rgpOf(called: string, record: GoverningRecord): View<"rgp"> {
  const { text, level: enforcement_level } = record;
  return { name: called, policy: text, enforcement_level, ...versionOf(record) };
}

export function egpOf(called: string, record: GoverningRecord): View<"egp"> {
  return { ...rgpOf(called, record), paths: record.paths };
}

/** The members of a write that makes `held` again, over what is there `now`. */
export function writtenAgain(held: PolicyRecord, now: PolicyRecord | null) {
  return {
    policy: held.text,
    cas_required: held.casRequired,
    ...(held.expires === null ? {} : { expiration: showTime(held.expires) }),
    ...(now?.casRequired === true ? { cas: now.version } : {}),
  };
}

export function governingAgain(held: GoverningRecord, now: GoverningRecord | null) {
  return { ...writtenAgain(held, now), enforcement_level: held.level };
}

/** As lists show them: `secret/*` is the path `secret/` and a glob. */
export function guardedBy({ paths: texts }: GoverningRecord): OutputOf<typeof guarded> {
  return readEgpPaths(texts);
}

function versionOf({ version: count, modified, casRequired, expires }: PolicyRecord) {
  return {
    version: count,
    ...(modified === 0n ? {} : { modified: showTime(modified) }),
    cas_required: casRequired,
    ...(expires === null ? {} : { expiration: showTime(expires) }),
  };
}
