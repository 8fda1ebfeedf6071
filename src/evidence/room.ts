// The room of evidence: reports that can be checked by people who have nothing but a file and a fingerprint.

import { DAY, HOUR } from "@holdfast/shared/text/duration";
import type { Log } from "@holdfast/shared/log";
import type { Timers } from "@holdfast/shared/world";
import { Recurring } from "../base/recurring.ts";
import type { View } from "../barrier/view.ts";
import { declares, type RoomPlan } from "../house/room.ts";
import { evidenceApi } from "./api.ts";
import { receiptsApi } from "./api-receipts.ts";
import { CarriedEvidence } from "./carried-evidence.ts";
import { Evidence, type EvidenceOptions } from "./evidence.ts";
import { Receipts } from "./receipts.ts";

export interface EvidenceNeeds extends Omit<EvidenceOptions, "view"> {
  /** Of everything below core/. */
  readonly node: View;
  readonly timers: Timers;
  readonly log: Log;
}

export interface EvidenceParts {
  readonly evidence: Evidence;
  readonly receipts: Receipts;
  readonly carried: CarriedEvidence;
}

export const evidenceRoom: RoomPlan<EvidenceNeeds, EvidenceParts> = {
  name: "evidence",
  declares: [
    declares("src/evidence/api.ts", evidenceApi, ({ evidence }: EvidenceParts) => evidence),
    declares(
      "src/evidence/api-receipts.ts",
      receiptsApi,
      ({ receipts }: EvidenceParts) => receipts,
    ),
  ],
  build: (needs) => {
    const { node, timers, log } = needs;
    const evidence = new Evidence({ ...needs, view: node.sub("evidence/") });
    const tidying = new Recurring({
      trouble: "could not tidy up evidence and its keys",
      run: (isOpen) => evidence.tidy(isOpen),
      period: DAY,
      atOnce: false, // `lead` has just done it
      timers,
      log: log.child("evidence"),
    });
    const view = node.sub("evidence/receipts/");
    const receipts = new Receipts({ view, evidence, clock: needs.clock, timers });
    const carried = new CarriedEvidence({ view: node.sub("evidence/"), evidence, receipts });
    const reporting = new Recurring({
      trouble: "could not sign for leases that have ended",
      run: (isOpen) => receipts.report(isOpen),
      period: HOUR,
      atOnce: false,
      timers,
      log: log.child("evidence"),
    });
    return {
      evidence,
      receipts,
      carried,
      whileFollowing: "leads",
      created: (tx) => evidence.created(tx),
      open: () => evidence.open(),
      lead: () => evidence.tidy(), // a store of an older version has no key yet
      close: () => evidence.close(),
      jobs: [
        { name: "tidy up evidence", when: "while-active", work: tidying },
        { name: "sign for leases that have ended", when: "while-active", work: reporting },
      ],
    };
  },
};
