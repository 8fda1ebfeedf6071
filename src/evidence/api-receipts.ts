// The endpoints of receipts: what there was to be ended, and how it did.

import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { namesPage, pageFields } from "@holdfast/shared/endpoint/page";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Receipts } from "./receipts.ts";

const endpoint = endpointsOf<Receipts>();

const MAX_LISTED = 1000;

/** Of receipts that are older than these members. */
const UNSAID = { role: "", origin: null, good_until: null, request_ids: [] };

export const receiptsApi = [
  endpoint({
    name: "listReceipts",
    method: "LIST",
    path: "/sys/evidence/receipts",
    summary: "List the leases that have ended",
    description: "Of this namespace. Receipts are kept for 400 days, and 64 MiB of them.",
    access: access.sudoOr("read"),
    input: pageFields(MAX_LISTED, "Only those after this id."),
    output: out.keys("Ids of leases"),
    handler: (receipts, page, { namespace }) =>
      namesPage(page, (read) => receipts.list(namespace, read)),
  }),

  endpoint({
    name: "readReceipt",
    method: "GET",
    path: "/sys/evidence/receipts/:id+",
    summary: "Read how a lease ended",
    access: access.sudoOr("read"),
    input: { id: wire.path("id").string("Id of the lease") },
    output: out.object({
      lease_id: out.string("Id of the lease"),
      path: out.string("Of the request that it was issued to"),
      secret_type: out.string("What kind of secret it was"),
      role: out.string("That it was made for; empty where the engine has none"),
      objects: out.list(out.string("Name"), "What the provider calls what was made"),
      accessor: out.string("Of the token that it was issued to; empty for none"),
      origin: out.nullable(
        out.object(
          {
            namespace_id: out.string("Namespace that it was proved or written in"),
            mount: out.string("Uuid of the auth mount; empty without a login"),
            name: out.string("Who was proved to be there; may be empty without a login"),
            accessor: out.string("Without a login: of the token that it all began with"),
          },
          "Who was behind that token; null where nobody has noted it",
        ),
      ),
      issued: out.time("When it was issued"),
      ended: out.time("When it ended"),
      why: out.oneOf(["expiry", "revoke", "token", "unmount"], "Why it ended"),
      result: out.oneOf(
        ["ended", "expires", "given-up"],
        "ended: the engine says that it is gone outside; expires: nobody can end it before good_until; " +
          "given-up: it may still be there",
      ),
      good_until: out.nullable(
        out.time("Until when what was handed out is good all the same; null where that is over"),
      ),
      request_ids: out.list(
        out.string("Id"),
        "By which the provider knows the calls that ended it, the last of them",
      ),
      tries: out.integer("How often ending it was tried"),
      error: out.string("Why the last try that failed did; empty where none has"),
    }),
    handler(receipts, { id }, { namespace }) {
      const { namespace_id: _, ...receipt } = receipts.find(namespace, id);
      return { ...UNSAID, ...receipt };
    },
  }),
];
