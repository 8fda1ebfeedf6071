// The endpoints of attention: what there is, what there was, and putting one off.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { limitField, more } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { parseTime, showTime } from "@holdfast/shared/text/time";
import { invariant } from "@holdfast/shared/invariant";
import type { Attention } from "./attention.ts";
import { SEVERITIES } from "./checks.ts";
import { noReason, snoozeTooLong } from "./failures.ts";

const endpoint = endpointsOf<Attention>();

const MAX_LISTED = 1000;

export const attentionApi = [
  endpoint({
    name: "readAttention",
    method: "GET",
    path: "/sys/attention",
    summary: "Read what needs attention, with what to do about it",
    description:
      "Of the namespace and those below it. Severity act: now; soon: before it hurts; note: to be known. " +
      "A subject that the caller's policies do not reach is null. Of each code at most 100 are shown: one item more, " +
      "with a `more` that is not 0, says how many there are besides. A list without items is an all-clear only " +
      "if complete is true.",
    access: access.capabilityOr("read"),
    runs: "here",
    input: {},
    output: out.object({
      items: out.list(
        out.object({
          code: out.string("What it is"),
          severity: out.oneOf(SEVERITIES, "How soon"),
          subject: out.nullable(
            out.string("What it is about; empty for the server, null where it may not be known"),
          ),
          namespace: out.string("Path of its namespace; empty for root"),
          since: out.time("When it was first seen"),
          text: out.string("What is the matter"),
          remedy: out.string("A command, or what to do"),
          more: out.integer(
            "0 for one thing; else this item stands for so many more of its code that are not shown",
          ),
          evidence: out.nullable(out.string("Id of a signed report about it")),
          snoozed_until: out.nullable(out.time("Until when it was put off")),
          snooze_reason: out.string("Why; empty where it was not"),
        }),
        "The most urgent first",
      ),
      checks: out.object({
        ran: out.integer("Checks that were made"),
        failed: out.integer(
          "Of them, those that could not be ended; each is an item of the root namespace",
        ),
        skipped: out.integer("Checks that do not apply to this server"),
      }),
      complete: out.boolean("Whether every check was made to its end"),
    }),
    async handler(attention, _, { caller, namespace }) {
      invariant(caller !== null, "a capability has a caller");
      const { items, checks, complete } = await attention.lookFor(caller, namespace);
      const order = items.toSorted(
        (a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity),
      );
      return {
        items: order.map((item) => ({
          code: item.code,
          severity: item.severity,
          subject: item.subject,
          namespace: item.namespace.path,
          since: item.since,
          text: item.text,
          remedy: item.remedy,
          more: item.more,
          evidence: item.evidence ?? null,
          snoozed_until: item.snoozed === null ? null : showTime(item.snoozed.until),
          snooze_reason: item.snoozed?.reason ?? "",
        })),
        checks,
        complete,
      };
    },
  }),

  endpoint({
    name: "readAttentionHistory",
    method: "GET",
    path: "/sys/attention/history",
    summary: "Read what needed attention once",
    description:
      "The newest first. The last 10,000 are kept. A page looks at as many as `limit` says, of all namespaces, and " +
      "may show fewer.",
    access: access.sudoOr("read"),
    input: {
      before: wire.query("before").integer("Only those before this number", { min: 1 }).optional(),
      limit: limitField(MAX_LISTED),
    },
    output: out.object({
      items: out.list(
        out.object({
          number: out.integer("Counts what has closed"),
          code: out.string("What it was"),
          severity: out.oneOf(SEVERITIES, "How soon"),
          subject: out.string("What it was about; empty for the server"),
          opened: out.time("When it was first seen"),
          closed: out.time("When it was no longer there"),
        }),
        "What has closed",
      ),
    }),
    handler: (attention, { before, limit }, { namespace }) => {
      const { found, last } = attention.history(namespace, before ?? null, limit);
      const items = found.map(({ number, item }) => ({
        number,
        code: item.code,
        severity: item.severity,
        subject: item.subject,
        opened: item.since,
        closed: item.closed,
      }));
      return reply({ items }, more(last, "before"));
    },
  }),

  endpoint({
    name: "snoozeAttention",
    method: "POST",
    path: "/sys/attention/:code/snooze",
    summary: "Put off something that needs attention",
    description:
      "It is still shown, and neither counted nor failed on. Never what has to be acted on now.",
    access: access.sudo,
    belongs: "local",
    input: {
      code: wire.path("code").string("What it is"),
      subject: wire.body("subject").string("What it is about; empty for the server").default(""),
      until: wire.body("until").string("Until when: a time of RFC 3339, within 30 days"),
      reason: wire.body("reason").string("Why: a text that is not blank", { max: 512 }),
    },
    output: out.nothing,
    async handler(attention, { code, subject, until, reason }, { namespace }) {
      if (reason.trim() === "") throw noReason();
      await attention.snooze(namespace, { code, subject, until: timeOf(until), reason });
      return undefined;
    },
  }),
];

function timeOf(text: string): bigint {
  try {
    const time = parseTime(text);
    if (time !== null) return time;
  } catch {
    // told below: what is accepted is the same
  }
  throw snoozeTooLong();
}
