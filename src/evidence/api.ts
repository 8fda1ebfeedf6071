// The endpoints of evidence: what there is, one of it, and the public keys, which are for everybody.

import type { JsonObject } from "@holdfast/shared/json/json";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { reply } from "@holdfast/shared/endpoint/reply";
import { cut, more, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import { fromBase64, text } from "@holdfast/shared/bytes";
import type { Evidence } from "./evidence.ts";

const endpoint = endpointsOf<Evidence>();

const MAX_LISTED = 1000;
const UNPROVEN =
  "this report is kept to be read: it lay unencrypted while the server was restarted after a restore, and only a key or copy from before that tells whether it is genuine";

const envelope = out.object(
  {
    payload: out.string("The report, in base64"),
    payloadType: out.string("What it is"),
    signatures: out.list(
      out.object({
        keyid: out.string("Fingerprint of the key"),
        sig: out.string("Ed25519 signature over type and payload, in base64"),
      }),
      "Signatures",
    ),
  },
  "DSSE envelope: what `holdfast evidence verify` reads",
);

export const evidenceApi = [
  endpoint({
    name: "listEvidence",
    method: "LIST",
    path: "/sys/evidence",
    summary: "List the signed reports of this namespace",
    description: "The oldest first. Kept for 400 days, and 64 MiB of them.",
    access: access.capabilityOr("read"),
    input: pageFields(MAX_LISTED, "Only those after this number or id."),
    output: out.keys("Ids, with number, kind, made_at and digest of each"),
    handler(evidence, { after, limit }, { namespace }) {
      const found = evidence.list(namespace, { after, limit: limit + 1 });
      const { page, last } = cut(found, limit);
      return reply(
        {
          keys: page.map(({ id }) => id),
          key_info: Object.fromEntries(
            page.map(({ id, number, kind, made, digest }) => [
              id,
              { number, kind, made_at: made, digest },
            ]),
          ),
        },
        more(last?.number ?? null),
      );
    },
  }),

  endpoint({
    name: "readEvidenceKeys",
    method: "GET",
    path: "/sys/evidence/keys",
    summary: "Read the public keys that evidence is checked with",
    description:
      "Every key there ever was, the last being the one that signs. Each but the first is named in a " +
      "report that the one before it has signed; where that could not be, its state is broken.",
    access: access.open,
    onDrSecondary: true,
    rootOnly: true,
    input: {},
    output: out.object({
      fingerprint: out.string("Of the key that signs now"),
      keys: out.list(
        out.object({
          fingerprint: out.string("SHA-256 over the public key in DER, in hex"),
          public_key: out.string("Ed25519 public key in PEM"),
          made_at: out.time("When it was made"),
          unproven: out.boolean(
            "The server was restarted between a restore and its unsealing, and vouches for it no more",
          ),
          statement: envelope,
        }),
        "The oldest first",
      ),
    }),
    handler: (evidence) => ({
      fingerprint: evidence.fingerprint ?? "",
      keys: evidence.keys().map(({ fingerprint, publicKey, made, unproven, statement }) => ({
        fingerprint,
        public_key: publicKey,
        made_at: made,
        unproven: unproven === true,
        statement,
      })),
    }),
  }),

  endpoint({
    name: "readEvidence",
    method: "GET",
    path: "/sys/evidence/:id",
    summary: "Read a signed report",
    access: access.capabilityOr("read"),
    input: { id: wire.path("id").string("Its id or number") },
    output: out.object({
      id: out.string("Its id"),
      number: out.integer("Its number: they follow one another without a gap"),
      kind: out.string("What it is about"),
      made_at: out.time("When it was made"),
      digest: out.string("SHA-256 of the payload, in hex: what the next one names"),
      report: out.anyObject("What the payload says"),
      envelope,
    }),
    handler(evidence, { id }, { namespace }) {
      const {
        id: own,
        number,
        kind,
        made,
        digest,
        envelope: signed,
        isUnproven = false,
      } = evidence.find(id, namespace);
      const payload = fromBase64(signed.payload);
      const report = JSON.parse(text(payload ?? new Uint8Array(0))) as JsonObject;
      const data = { id: own, number, kind, made_at: made, digest, report, envelope: signed };
      return reply(data, { warnings: isUnproven ? [UNPROVEN] : [] });
    },
  }),
];
