// Documents that come with a question and are only tried: read as they would be at a write, and never
// stored. An ACL policy or RGP among them counts as if the token carried it, an EGP on its paths.

import { inSlices, type Pace } from "@holdfast/shared/sliced";
import type { EnforcementLevel } from "../../endpoint/judgement.ts";
import type { NamespaceRef } from "@holdfast/shared/endpoint/request";
import { readAclDocument } from "../../acl/document.ts";
import { policyName } from "@holdfast/shared/text/policy-name";
import { readEgpPaths } from "./egp-paths.ts";
import * as failures from "../failures.ts";
import type { Programs, Trial } from "./governing.ts";
import type { Governor } from "./governing-places.ts";
import type { Tried } from "./governors.ts";
import type { PolicyRecord } from "../policy-record.ts";
import { presentText } from "../policy-text.ts";
import type { StoredPolicies } from "../rights.ts";

export interface TrialDocument {
  readonly kind: "acl" | "rgp" | "egp";
  readonly name: string;
  readonly text: string;
  readonly level: EnforcementLevel;
  /** Of an EGP. */
  readonly paths: readonly string[];
}

export interface TrialDocuments extends Tried {
  /** Texts of ACL policies by name. */
  readonly acls: ReadonlyMap<string, string>;
  readonly programs: ReadonlyMap<Governor, Trial>;
}

export async function readTrialDocuments(
  documents: readonly TrialDocument[],
  namespace: NamespaceRef,
  load: () => Promise<Programs>,
  pace: Pace,
): Promise<TrialDocuments> {
  const acls = new Map<string, string>();
  const programs = new Map<Governor, Trial>();
  const rgps: Governor[] = [];
  const egps: { path: Tried["egps"][number]["path"]; value: Governor }[] = [];
  for (const { kind, name: spelt, text, level, paths } of documents) {
    const name = policyName(spelt.trim());
    if (name === null) throw failures.nameInvalid();
    if (kind === "acl") {
      await inSlices(readAclDocument(presentText(text)), pace);
      acls.set(name, text);
      continue;
    }
    const { parseProgram } = await load();
    const program = parseProgram(presentText(text));
    const governor: Governor = { kind, namespaceId: namespace.id, name };
    programs.set(governor, { level, program });
    if (kind === "rgp") rgps.push(governor);
    else egps.push(...readEgpPaths(paths).map((path) => ({ path, value: governor })));
  }
  return { namespace, acls, programs, rgps, egps };
}

/** The stored ACL policies with those that are tried in their place. */
export function withTrials(
  stored: StoredPolicies,
  { namespace, acls }: TrialDocuments,
  now: bigint,
  index: bigint,
): StoredPolicies {
  return {
    stored: (namespaceId, name) => {
      const text = namespaceId === namespace.id ? acls.get(name) : undefined;
      if (text === undefined) return stored.stored(namespaceId, name);
      const record: PolicyRecord = {
        text,
        version: 1,
        modified: now,
        created: index,
        written: index, // as if it were the last write: it reaches every namespace that there is
        casRequired: false,
        expires: null,
      };
      return record;
    },
    watch: () => () => {},
  };
}
